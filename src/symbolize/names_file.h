/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_file.h - names that were looked up for one recording, for the next ones.
 *
 * Layer:    symbolize
 * Flow:     intervals of an agent's recording -> [names file] -> later intervals
 * Threads:  one owner
 * Memory:   while a call lasts
 * Signals:  not for handlers
 *
 * It is a recording that has SYMBOLS chunks alone: names by file, build-id and address. Each file
 * is added once, so it grows with the code that is seen, not with time. One that was cut is good as
 * far as it goes.
 */
#ifndef KYMO_SYMBOLIZE_NAMES_FILE_H
#define KYMO_SYMBOLIZE_NAMES_FILE_H

#include "kymo/profile.h"
#include "profile/ingest.h"

/* Begins a names file in fd, an empty file that can be read and written. */
KYMO_NODISCARD
kymo_err kymo_names_file_begin(int fd);
/* Gives its names to an ingest that is not finished. A file that cannot be read has none. */
KYMO_NODISCARD
kymo_err kymo_names_file_read(int fd, kymo_ingest *ingest);
/* Adds what a profile has that the file has not. */
KYMO_NODISCARD
kymo_err kymo_names_file_add(int fd, const kymo_profile *profile);

#endif
