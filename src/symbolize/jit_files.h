/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_files.h - finds the files in which a process names the code that it makes.
 *
 * Layer:    symbolize
 * Flow:     /proc -> [jit_files] -> descriptors for jit_code.c
 * Threads:  the recorder's one thread
 * Memory:   the structure is the caller's; it owns descriptors between init and deinit
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
#include <sys/types.h>

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

#endif
