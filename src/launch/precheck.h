/* SPDX-License-Identifier: Apache-2.0 */
/*
 * precheck.h - finds out before a program runs whether it can be recorded.
 *
 * Layer:    launch; above base
 * Flow:     cli/cmd_record.c -> [precheck] -> launch
 * Threads:  any
 * Memory:   the caller's structure
 * Signals:  not for handlers
 *
 * The file is looked at, not executed; it may be another one by the time it runs. That costs a
 * recording, never the program: a library that cannot be loaded is passed over by the loader.
 */
#ifndef KYMO_LAUNCH_PRECHECK_H
#define KYMO_LAUNCH_PRECHECK_H

#include <limits.h>

#include "base/error.h"

#define KYMO_PRECHECK_REASON_MAX 512

typedef enum kymo_precheck_verdict {
    KYMO_PRECHECK_OK,
    KYMO_PRECHECK_NOT_FOUND,      /* shells exit with 127 */
    KYMO_PRECHECK_NOT_EXECUTABLE, /* shells exit with 126 */
    KYMO_PRECHECK_NOT_RECORDABLE, /* it would run, but without us in it */
} kymo_precheck_verdict;

typedef struct kymo_precheck {
    kymo_precheck_verdict verdict;
    char path[PATH_MAX];   /* the program's file, "" if there is none */
    char judged[PATH_MAX]; /* the file that was judged: the program, or its interpreter */
    /* The program is a script that begins with "#!/usr/bin/env NAME" and nothing more: running
     * `NAME path` is the same and spares the exec of env, across which we do not follow. NAME as
     * the script has it; "" otherwise. */
    char env_interpreter[256];
    char reason[KYMO_PRECHECK_REASON_MAX]; /* one line, "" with KYMO_PRECHECK_OK */
    /* With KYMO_PRECHECK_OK: what will be missing of it all the same, one line; "" mostly. */
    char warning[KYMO_PRECHECK_REASON_MAX];
    /* Why it is better sampled from outside, where the kernel may do that ("it is statically
     * linked"); "" otherwise. */
    char outside[KYMO_PRECHECK_REASON_MAX];
} kymo_precheck;

/* Judges what execvp(name) would run. search_path is the value of PATH, NULL if it is not set. */
void kymo_precheck_program(const char *name, const char *search_path, kymo_precheck *out);

#endif
