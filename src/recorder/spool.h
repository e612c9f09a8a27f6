/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - the file that a recording is written to, until it has its final name.
 *
 * Layer:    recorder; above encode/atomic_file.h
 * Flow:     cli/cmd_record.c -> [spool] -> launch.h, finish.h
 * Threads:  the only one
 * Memory:   the caller's structure, from create to close
 * Signals:  not for handlers, but kymo_spool_place
 *
 * The folder may be another user's, who can replace any name in it at any time, by a link to a file
 * of root's, for one. So the file is created once, and from then on it is written and read through
 * its descriptor. A name is only ever given or taken, within a folder that is held open.
 */
#ifndef KYMO_RECORDER_SPOOL_H
#define KYMO_RECORDER_SPOOL_H

#include <limits.h>
#include <stdint.h>

#include "base/error.h"

/* No finished recording is called so. */
#define KYMO_SPOOL_SUFFIX ".unfinished.kymo"

typedef struct kymo_spool {
    int fd;              /* of the file, to read and write; -1: none */
    int folder;          /* where its name is */
    char path[PATH_MAX]; /* for messages alone */
    const char *name;    /* in path */
    uint64_t device, inode;
} kymo_spool;

/* A new file for its owner alone: kymo.STEM.XXXXXX.unfinished.kymo in folder. After an error there
 * is nothing to close. */
KYMO_NODISCARD
kymo_err kymo_spool_create(kymo_spool *spool, const char *folder, const char *stem,
                           kymo_error *detail);
/* Its path, for a person to find it by; NULL when it has no name there any more. */
KYMO_SIGNAL_SAFE
const char *kymo_spool_place(const kymo_spool *spool);
/* Gives the recording the name path. A spool whose name was taken away, or whose path is in another
 * file system, is copied. replace: an existing file goes, else KYMO_E_EXISTS. */
KYMO_NODISCARD
kymo_err kymo_spool_move(kymo_spool *spool, const char *path, int replace, kymo_error *detail);
/* Takes its name away, if it still is the file's. */
void kymo_spool_unlink(kymo_spool *spool);
uint64_t kymo_spool_bytes(const kymo_spool *spool);
void kymo_spool_close(kymo_spool *spool);

#endif
