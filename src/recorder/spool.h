/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - the file that a recording is written to, until it has its final name.
 *
 * Layer:    recorder; above encode/atomic_file.h
 * Flow:     cli/cmd_record.c -> [spool] -> launch.h, finish.h
 * Threads:  one
 * Memory:   the caller's structure, from create to close
 * Signals:  not for handlers, except kymo_spool_place
 *
 * The folder may belong to another user, who can replace any name in it at any time, for example by
 * a link to a file of root. So the file is created once, and then read and written only through its
 * descriptor. Names are only added and removed, in a folder that is held open.
 */
#ifndef KYMO_RECORDER_SPOOL_H
#define KYMO_RECORDER_SPOOL_H

#include <limits.h>
#include <stdint.h>

#include "base/error.h"

/* No finished recording has this ending. */
#define KYMO_SPOOL_SUFFIX ".unfinished.kymo"

typedef struct kymo_spool {
    int fd;              /* to read and write; -1: none */
    int folder;          /* directory of its name */
    char path[PATH_MAX]; /* for messages only */
    const char *name;    /* in path */
    uint64_t device, inode;
} kymo_spool;

/* Creates a file that only its owner can read: kymo.STEM.XXXXXX.unfinished.kymo in folder. After
 * an error there is nothing to close. */
KYMO_NODISCARD
kymo_err kymo_spool_create(kymo_spool *spool, const char *folder, const char *stem,
                           kymo_error *detail);
/* Its path, for messages; NULL if the file no longer has a name there. */
KYMO_SIGNAL_SAFE
const char *kymo_spool_place(const kymo_spool *spool);
/* Gives the recording its final name. Copies it if its name was removed, or if path is on
 * another file system. replace: an existing file is replaced, else KYMO_E_EXISTS. */
KYMO_NODISCARD
kymo_err kymo_spool_move(kymo_spool *spool, const char *path, int replace, kymo_error *detail);
/* Removes its name, if the name still belongs to the file. */
void kymo_spool_unlink(kymo_spool *spool);
uint64_t kymo_spool_bytes(const kymo_spool *spool);
void kymo_spool_close(kymo_spool *spool);

#endif
