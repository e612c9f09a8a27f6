/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomic_file.h - a file that appears under its name only when it is complete.
 *
 * Layer:    encode; above base
 * Flow:     formats -> [atomic_file] -> the disk
 * Threads:  one owner at a time
 * Memory:   the names, from open to commit or abandon
 * Signals:  not for handlers
 *
 * The bytes go to ".NAME.PID.N.tmp" beside the target (one file system, so that rename is atomic).
 * Every write is checked to its last byte, and close too, where network file systems report a full
 * disk. There is no fsync: a crash of the machine may lose a file that was written just before, as
 * with any program.
 */
#ifndef KYMO_ENCODE_ATOMIC_FILE_H
#define KYMO_ENCODE_ATOMIC_FILE_H

#include <sys/types.h>

#include "base/bytes.h"

typedef struct kymo_atomic_file {
    kymo_sink sink; /* first, so that &file->sink converts back; its errors fill detail */
    kymo_error *detail;
    char *path;       /* the target; see kymo_atomic_file_open for links */
    const char *name; /* the last part of path */
    char *temporary;  /* in the same folder; NULL: path is a pipe or a device, written directly */
    int folder;       /* held open: another process may replace the path */
    int fd;           /* -1: nothing is open */
    int replace;
    uint64_t bytes;
} kymo_atomic_file;

/* A symbolic link at path is followed if it belongs to the user or root and only they can write
 * to its folder; so are links that it leads to. Any other link may have been made or moved there
 * by another user, and is replaced. Only the owner can read the file, as profiles hold command
 * lines and paths. replace 0: KYMO_E_EXISTS if there is such a file, now or on commit. detail
 * may be NULL, and is used until commit or abandon. After an error there is nothing to abandon. */
KYMO_NODISCARD
kymo_err kymo_atomic_file_open(kymo_atomic_file *file, const char *path, int replace,
                               kymo_error *detail);
/* The same in an open folder, for the last part of path. Whatever has that name there, including
 * a link or a device, is replaced. */
KYMO_NODISCARD
kymo_err kymo_atomic_file_open_in(kymo_atomic_file *file, int folder, const char *path, int replace,
                                  kymo_error *detail);
/* Gives the file its name. Ends the use of `file`, even after an error. */
KYMO_NODISCARD
kymo_err kymo_atomic_file_commit(kymo_atomic_file *file);
/* Removes the unfinished file. */
void kymo_atomic_file_abandon(kymo_atomic_file *file);
/* Removes what process pid, which was killed, left of the file path: the first one that it wrote
 * at a time. */
void kymo_atomic_file_remove_left(const char *path, pid_t pid);

#endif
