/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_pass.h - passes the library and the way to the recorder on to a program that is executed.
 *
 * Layer:    capture
 * Flow:     exec and spawn hooks -> exec_target, [exec_pass] -> the real function
 * Threads:  any; also children of fork and vfork
 * Memory:   the new environment lies on the stack; a large one in a mapping of its own, which is
 *           undone when the call returns
 * Signals:  safe, as exec is: raw system calls
 *
 * The program's own environment is as it would be without us: what is added stands only in the
 * array that the kernel copies, and the library takes it out again before the new program begins.
 */
#ifndef KYMO_CAPTURE_EXEC_PASS_H
#define KYMO_CAPTURE_EXEC_PASS_H

#include "base/attr.h"
#include "buffer/session.h"

/* ---- exec_target.c: whether the library may go into a program that is about to be executed ----
 *
 * The recorder asks the same questions of the program that it starts (launch/precheck.h) to
 * explain the answer to a user; here they are asked in the program, many times a second.
 */

enum kymo_exec_verdict {
    KYMO_EXEC_RECORDABLE,
    KYMO_EXEC_REFUSED, /* it would run, but not with us in it */
    KYMO_EXEC_UNKNOWN, /* it will not run, or only the kernel knows how: leave it alone */
};

/* How exec looks for the file. */
enum kymo_exec_lookup {
    KYMO_EXEC_PATH,             /* execve: a path as it is */
    KYMO_EXEC_PATH_SHELL,       /* execvp with a slash: text without #! runs under the shell */
    KYMO_EXEC_SEARCH,           /* posix_spawnp: in PATH */
    KYMO_EXEC_SEARCH_SHELL,     /* execvp: in PATH, and text without #! runs under the shell */
    KYMO_EXEC_PATH_ELSEWHERE,   /* a path, seen from a folder that is not known */
    KYMO_EXEC_SEARCH_ELSEWHERE, /* in PATH, likewise */
};

/* Judges what an exec of file would run. *reason is set with KYMO_EXEC_REFUSED. */
KYMO_SIGNAL_SAFE enum kymo_exec_verdict kymo_exec_judge(const char *file,
                                                        enum kymo_exec_lookup lookup,
                                                        enum kymo_refusal_reason *reason);

/* ---- exec_pass.c ---- */

/* The real call, with the environment that it is to be made with. */
typedef int kymo_exec_call(void *what, char *const *env);

/* Judges file, and calls with envp, or with envp and ours if the program is to be recorded. Returns
 * what the call did; errno is its own. */
KYMO_SIGNAL_SAFE int kymo_exec_pass(const char *file, enum kymo_exec_lookup lookup,
                                    char *const *envp, kymo_exec_call *call, void *what);

/* The same in steps, for who needs the array to live longer. Whether the program is to be recorded;
 * one that cannot be is listed. */
KYMO_SIGNAL_SAFE int kymo_exec_is_recordable(const char *file, enum kymo_exec_lookup lookup);
/* The bytes that the array takes; 0: whatever the program is, it is not to get ours. */
KYMO_SIGNAL_SAFE size_t kymo_exec_env_bytes(const char *file, char *const *envp);
/* The array, written to so much aligned memory; NULL if another thread has made the environment
 * larger since it was measured. */
KYMO_SIGNAL_SAFE char **kymo_exec_env_write(char *const *envp, void *memory, size_t bytes);
/* The entry that write puts another LD_PRELOAD in the place of; NULL: none. */
KYMO_SIGNAL_SAFE char *kymo_exec_env_preload(char *const *envp);

#endif
