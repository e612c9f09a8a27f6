/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_files.h - finds the files in which a process names the code that it makes, and the second
 * mappings of its modules.
 *
 * Layer:    symbolize
 * Flow:     /proc -> [jit_files] -> descriptors for jit_code.c
 * Threads:  the recorder's one thread
 * Memory:   the structures are the caller's; they own descriptors and tables until deinit
 * Signals:  not for handlers
 *
 * Where they are is agreed on by perf and the compilers: /tmp/perf-PID.map, with the pid and the
 * /tmp that the process sees; a jitdump jit-PID.dump is mapped executable by who writes it, just to
 * show where it is. Any user may put a file into /tmp. So a file is used only if it belongs to the
 * process's user (or ours), and was written since the process began: pids are reused.
 */
#ifndef KYMO_SYMBOLIZE_JIT_FILES_H
#define KYMO_SYMBOLIZE_JIT_FILES_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/vec.h"
#include "recording/events.h"

struct kymo_jit_files {
    pid_t pid;
    int perf_map; /* -1: not found */
    int jitdump;
    /* private */
    pid_t inner_pid; /* as the process sees itself; 0: not asked yet */
    uid_t uid;
    int64_t start_s; /* of the process, since 1970; 0: not known */
    int root;        /* its root, if it is not ours; -1: it is */
    char cwd[PATH_MAX];
};

void kymo_jit_files_init(struct kymo_jit_files *files, pid_t pid);
void kymo_jit_files_deinit(struct kymo_jit_files *files);
/* While the process lives: opens what is not open yet. */
void kymo_jit_files_look(struct kymo_jit_files *files);
/* For the last time, the process may have ended: what is there under its name counts before what
 * was kept open, and a jitdump is looked for where it is usual, too. */
void kymo_jit_files_look_last(struct kymo_jit_files *files);

/* The second places at which a process has mapped code of its modules (jit_mappings.c). V8 calls
 * its built-in code through short jumps, so it maps it anew near the code that it makes. The loader
 * knows nothing of that place. Zero bytes are a valid, empty one. */
struct kymo_jit_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    size_t module;
};
struct kymo_jit_mappings {
    KYMO_VEC(kymo_event_module) modules; /* path and build_id are owned */
    KYMO_VEC(struct kymo_jit_mapping) mappings;
};

void kymo_jit_mappings_deinit(struct kymo_jit_mappings *m);
KYMO_NODISCARD
kymo_err kymo_jit_mappings_module(struct kymo_jit_mappings *m, const kymo_event_module *module);
/* While the process lives: looks which executable mappings there are of the files of its modules.
 */
void kymo_jit_mappings_look(struct kymo_jit_mappings *m, pid_t pid);
/* As a module of its own, but for its numbers; the texts live as long as m. */
void kymo_jit_mappings_get(const struct kymo_jit_mappings *m, size_t mapping,
                           kymo_event_module *out);

/* The executable mappings of a process one by one, while maps, its /proc/PID/maps, is open: the
 * next one's place in the memory and in the file, and its path, in line. NULL: there are no more.
 */
#define KYMO_JIT_LINE_MAX (PATH_MAX + 128)
char *kymo_jit_mapping_next(FILE *maps, char line[KYMO_JIT_LINE_MAX], struct kymo_jit_mapping *out);

#endif
