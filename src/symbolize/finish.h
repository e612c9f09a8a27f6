/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.h - makes a profile with names from a .kymo file, and stores names in the file.
 *
 * Layer:    symbolize; above symbolize, kymo/recording.h
 * Flow:     .kymo -> [finish] -> kymo_profile -> kymo/encode.h, kymo/report.h
 *           finished .kymo -> [store] -> the same with SYMBOLS chunks before its END
 * Threads:  one owner
 * Memory:   the caller owns the resulting profile and info
 * Signals:  not for handlers; SIGINT, SIGTERM and SIGHUP wait while kymo_store_symbols writes
 */
#ifndef KYMO_SYMBOLIZE_FINISH_H
#define KYMO_SYMBOLIZE_FINISH_H

#include "base/error.h"
#include "kymo/profile.h"
#include "kymo/recording.h"
#include "recording/events.h"

/* Receives the progress. */
typedef struct kymo_finish_progress {
    void (*step)(void *data, const char *what); /* a step begins: "reading symbols" */
    void (*update)(void *data, double fraction);
    void *data;
} kymo_finish_progress;

/* Finds missing names of the profile's code, and sets the quality's share of named frames. info:
 * of the recording that the profile was made from. KYMO_E_NOMEM, KYMO_E_TOO_BIG. */
KYMO_NODISCARD
kymo_err kymo_finish_symbolize(kymo_profile *profile, const kymo_recording_info *info,
                               const kymo_finish_progress *progress);

/* How a recording is loaded; all zero: as it is. */
typedef struct kymo_load_how {
    int without_markers;      /* nor counts and labels: for a summary without them */
    int native_python;        /* with the interpreter's frames between Python's */
    int folds_recursion;      /* a function that calls itself is one frame in traced calls */
    uint64_t min_duration_ns; /* shorter traced calls are left out: their time is their caller's */
    int names; /* a file of names (names_file.h), which are found there first; 0: none */
    const struct kymo_recording_intervals *intervals; /* read in place of path and fd; NULL: none */
} kymo_load_how;

/* Reads a recording as far as it is good, finds the names of its code, and returns a finished
 * profile, whose quality includes the share of names found. how: NULL: as it is. fd: the recording,
 * whose name may belong to another file by now; -1: it is opened by its path. progress, info and
 * detail may be NULL; info and errors are as for kymo_recording_load. Missing names are not an
 * error. */
KYMO_NODISCARD
kymo_err kymo_finish_load(const char *path, int fd, const kymo_load_how *how,
                          const kymo_finish_progress *progress, kymo_profile **out,
                          kymo_recording_info *info, kymo_error *detail);

/* load.c: kymo_recording_load, or of fd if that is not -1 kymo_recording_load_fd. */
KYMO_NODISCARD
kymo_err kymo_recording_load_as(const char *path, int fd, const kymo_load_how *how,
                                kymo_profile **out, kymo_recording_info *info, kymo_error *detail);

/* load.c: modules and stacks only, from the beginning of fd, a file; without samples, markers
 * and allocations, which are most of a recording. names: as in kymo_load_how. *end_at: offset of
 * its END chunk; 0: none. */
KYMO_NODISCARD
kymo_err kymo_recording_load_code(int fd, int names, kymo_profile **out, kymo_recording_info *info,
                                  uint64_t *end_at, kymo_error *detail);

/* Makes a recording self-contained: stores the names of its code in it. fd: the recording, open
 * for reading and writing, not used by another thread or process. A recording without an END
 * chunk, or a damaged one, is not changed: it is symbolized when it is reported. progress and
 * detail may be NULL. names: as in kymo_load_how; what was looked up is added to it. After an error
 * of writing (a full disk) the recording is as before, except that the END chunk is missing if it
 * could not be written again. */
KYMO_NODISCARD
kymo_err kymo_store_symbols(int fd, int names, const kymo_finish_progress *progress,
                            kymo_error *detail);

/* Which addresses of a file are left out; NULL: none. */
typedef struct kymo_symbol_filter {
    int (*leaves_out)(void *data, const kymo_module *file, uint64_t address);
    void *data;
} kymo_symbol_filter;

/* symbol_events.c: gives all frames of the profile that are in a file, once for each file and
 * address, with or without a name. Only the handler's function `symbols` is called.
 * KYMO_E_NOMEM, or the handler's error. */
KYMO_NODISCARD
kymo_err kymo_symbol_events_send(const kymo_profile *profile, const kymo_symbol_filter *filter,
                                 const kymo_event_handler *to, void *context);

#endif
