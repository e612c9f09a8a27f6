/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_target.h - whether the library may go into a program that is about to be executed.
 *
 * Layer:    capture
 * Flow:     exec and spawn hooks -> [exec_target] -> exec_pass
 * Threads:  any; also children of fork and vfork
 * Memory:   some 5 KiB of stack, nothing else; one descriptor for as long as it looks
 * Signals:  safe: raw system calls
 *
 * The recorder asks the same questions of the program that it starts (launch/precheck.h) to
 * explain the answer to a user; here they are asked in the program, many times a second.
 */
#ifndef KYMO_CAPTURE_EXEC_TARGET_H
#define KYMO_CAPTURE_EXEC_TARGET_H

#include "base/attr.h"
#include "buffer/session.h"

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

#endif
