/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - where the files of a recording go, and what they are called.
 *
 * Layer:    cli; above base and the table of formats (kymo/encode.h)
 * Flow:     "-o NAME" -> check (before the program runs) -> settle (when its pid is known)
 * Threads:  the only one
 * Memory:   the caller's structure
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_OUTPUT_H
#define KYMO_CLI_OUTPUT_H

#include <limits.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "recorder/spool.h"

#define KYMO_OUTPUTS_MAX 16

typedef struct kymo_output {
    const char *asked; /* as the user gave it; NULL: the default name in the current folder */
    int default_name;  /* Kymo chooses the name within the folder, and numbers it if it is taken */
    int force;         /* an existing file may be replaced */
    int is_recording;  /* .kymo: not encoded, but the recording itself */
    int is_stdout;     /* "-": text to standard output */
    int is_special;    /* a pipe or a device, which is written into and not replaced */
    char folder[PATH_MAX]; /* that the file goes to; "" while it depends on the pid */
    char path[PATH_MAX];   /* set by settle; with check, the path unless it depends on the pid */
} kymo_output;

/* What the names are made of. */
typedef struct kymo_output_names {
    const char *program; /* argv[0] */
    pid_t pid;           /* 0: not known yet */
    time_t start;
} kymo_output_names;

/* Everything that can be known before the program runs: the extension stands for a format, the
 * folder exists and can be written, no file is there that may not be replaced. On error detail is
 * the line to print. */
KYMO_NODISCARD
kymo_err kymo_output_check(kymo_output *output, const char *asked, int force,
                           const kymo_output_names *names, kymo_error *detail);

/* The same for a file to convert into: no folder, no default name, no %-signs. "-" is standard
 * output, which takes text: collapsed stacks, or with "-.json" and the like what that ending says.
 */
KYMO_NODISCARD
kymo_err kymo_output_check_plain(kymo_output *output, const char *path, int force,
                                 kymo_error *detail);

/* Sets path, all names known. A default name that is taken gets -2, -3, ... */
KYMO_NODISCARD
kymo_err kymo_output_settle(kymo_output *output, const kymo_output_names *names,
                            kymo_error *detail);

/* A free name for a recording that is kept since it could not be encoded: kymo.PROGRAM.PID.kymo in
 * folder, numbered if taken. */
KYMO_NODISCARD
kymo_err kymo_output_keep_path(const char *folder, const kymo_output_names *names,
                               char path[PATH_MAX], kymo_error *detail);

/* An empty file in folder for the recorder to write to: kymo.PROGRAM.XXXXXX.unfinished.kymo
 * (spool.h). */
KYMO_NODISCARD
kymo_err kymo_output_make_spool(const char *folder, const kymo_output_names *names,
                                kymo_spool *spool, kymo_error *detail);

/* Makes kymo.latest.kymo beside path a relative link to it, in one step. KYMO_E_UNSUPPORTED: the
 * file system has no links. */
KYMO_NODISCARD
kymo_err kymo_output_link_latest(const char *path, kymo_error *detail);

#endif
