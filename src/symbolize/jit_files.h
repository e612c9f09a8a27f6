/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_files.h - finds the files in which a process names its generated code, and the second
 * mappings of its modules.
 *
 * Layer:    symbolize
 * Flow:     /proc -> [jit_files] -> descriptors for jit_code.c
 * Threads:  the recorder's one thread
 * Memory:   the structures are the caller's; they own descriptors and tables until deinit
 * Signals:  not for handlers
 *
 * perf and JIT compilers agree on the names: /tmp/perf-PID.map, with the pid and the /tmp that the
 * process sees; a jitdump, jit-PID.dump, is mapped executable by its writer, only to show where it
 * is. Any user can put a file into /tmp. So a file is used only if it belongs to the process's user
 * (or ours), and was written after the process began: pids are reused.
 */
#ifndef KYMO_SYMBOLIZE_JIT_FILES_H
#define KYMO_SYMBOLIZE_JIT_FILES_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/vec.h"
#include "recording/events.h"
#include "sys/proc_maps.h"

struct kymo_jit_files {
    pid_t pid;
    int perf_map; /* -1: not found */
    int jitdump;
    /* private */
    pid_t inner_pid; /* its pid in its own namespace; 0: not read yet */
    uid_t uid;
    int64_t start_s; /* of the process, since 1970; 0: not known */
    int root;        /* its root directory if it differs from ours; else -1 */
    char cwd[PATH_MAX];
};

void kymo_jit_files_init(struct kymo_jit_files *files, pid_t pid);
void kymo_jit_files_deinit(struct kymo_jit_files *files);
/* While the process lives: opens files that are not open yet. */
void kymo_jit_files_look(struct kymo_jit_files *files);
/* Last call, when the process may have ended: a file that now has the name replaces the one kept
 * open, and a jitdump is also searched for in its usual directories. */
void kymo_jit_files_look_last(struct kymo_jit_files *files);

/* Second mappings of the code of a process's modules (jit_mappings.c). V8 calls its built-in
 * code with short jumps, so it maps that code again near generated code. The loader does not
 * know these mappings. All zero is a valid empty state. */
struct kymo_jit_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    size_t module;
    int is_recorded;
};
struct kymo_jit_mappings {
    KYMO_VEC(kymo_event_module) modules; /* path and build_id are owned */
    KYMO_VEC(struct kymo_jit_mapping) mappings;
};

void kymo_jit_mappings_deinit(struct kymo_jit_mappings *m);
KYMO_NODISCARD
kymo_err kymo_jit_mappings_module(struct kymo_jit_mappings *m, const kymo_event_module *module);
/* While the process lives: searches for executable mappings of its modules' files. */
void kymo_jit_mappings_look(struct kymo_jit_mappings *m, pid_t pid);
/* As a separate module, except for its numbers; texts are valid as long as m. */
void kymo_jit_mappings_get(const struct kymo_jit_mappings *m, size_t mapping,
                           kymo_event_module *out);

/* Iterates over the executable mappings of a process, with its /proc/PID/maps open as maps; the
 * path of the next one is in line. 0: the end. */
#define KYMO_JIT_LINE_MAX (PATH_MAX + 128)
int kymo_jit_mapping_next(FILE *maps, char line[KYMO_JIT_LINE_MAX], struct kymo_proc_mapping *out);

#endif
