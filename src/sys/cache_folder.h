/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_folder.h - the folder in which Kymo keeps what another recording would compute again.
 *
 * Layer:    sys (cold half only)
 * Flow:     observe/kallsyms_cache.c, symbolize/section_cache.c <-> [cache_folder] <-> files
 * Threads:  any; several processes may use the folder at once
 * Memory:   the caller owns descriptors
 * Signals:  not for handlers
 *
 * It is $XDG_CACHE_HOME/kymo or ~/.cache/kymo, else kymo-UID in $TMPDIR or /tmp. KYMO_CACHE=off
 * in the environment (any word but "on"): there is none. The folder (0700) and its files (0600) are
 * used only if they belong to our user and no other user may write to them; symbolic links are not
 * followed. A program run by sudo may have another user's HOME: then that folder is left alone.
 *
 * A file is written under a temporary name and renamed, so a reader finds all of it or none; after
 * a crash of the machine it may hold anything. So what is read needs a checksum.
 */
#ifndef KYMO_SYS_CACHE_FOLDER_H
#define KYMO_SYS_CACHE_FOLDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

/* Opens the folder, and makes it if it is missing. -1: there is none. The caller closes it. */
int kymo_cache_open(void);
/* Opens a file of the folder for reading. -1: there is none of ours, or it has more than `most`
 * bytes. Notes, to the day, that it is in use: kymo_cache_trim removes others first. */
int kymo_cache_open_file(int folder, const char *name, uint64_t most, uint64_t *size);
/* Writes a file of these parts, in place of the one with that name. KYMO_E_PERMISSION, KYMO_E_IO:
 * the one before is still there. */
KYMO_NODISCARD
kymo_err kymo_cache_write(int folder, const char *name, const struct iovec *parts, size_t n);
/* Removes the files whose names begin with prefix and that were not used for longest, until the
 * rest has at most `most` bytes; also what a killed process left half written. */
void kymo_cache_trim(int folder, const char *prefix, uint64_t most);

#endif
