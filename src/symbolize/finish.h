/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.h - from a .kymo file to a profile with names, and the names into the file.
 *
 * Layer:    symbolize; above symbolize, kymo/recording.h
 * Flow:     .kymo -> [finish] -> kymo_profile -> kymo/encode.h, kymo/report.h
 *           finished .kymo -> [store] -> the same with SYMBOLS blocks before its END
 * Threads:  one owner
 * Memory:   the caller owns the profile and the info that come out
 * Signals:  not for handlers; SIGINT, SIGTERM and SIGHUP wait while kymo_store_symbols writes
 */
#ifndef KYMO_SYMBOLIZE_FINISH_H
#define KYMO_SYMBOLIZE_FINISH_H

#include "base/error.h"
#include "kymo/profile.h"
#include "kymo/recording.h"
#include "recording/events.h"

/* Who wants to know how far the work is. */
typedef struct kymo_finish_progress {
    void (*step)(void *data, const char *what); /* a step begins: "reading symbols" */
    void (*update)(void *data, double fraction);
    void *data;
} kymo_finish_progress;

/* Finds the names of the profile's code that it does not have yet, and sets the quality's share of
 * them. info: of the recording that it was made from. KYMO_E_NOMEM, KYMO_E_TOO_BIG. */
KYMO_NODISCARD
kymo_err kymo_finish_symbolize(kymo_profile *profile, const kymo_recording_info *info,
                               const kymo_finish_progress *progress);

/* Reads the recording at path as far as it is good, finds the names of its code, and gives a
 * finished profile, whose quality says how many were found. progress, info and detail may be NULL;
 * info is used, and errors are, as by kymo_recording_load. That names cannot be found is not an
 * error. */
KYMO_NODISCARD
kymo_err kymo_finish_load(const char *path, const kymo_finish_progress *progress,
                          kymo_profile **out, kymo_recording_info *info, kymo_error *detail);
/* The same of a recording that is open, whose name may be another's by now
 * (kymo_recording_load_fd).
 */
KYMO_NODISCARD
kymo_err kymo_finish_load_fd(int fd, const kymo_finish_progress *progress, kymo_profile **out,
                             kymo_recording_info *info, kymo_error *detail);
/* The same without markers, counts and labels, for a summary that says nothing of them. */
KYMO_NODISCARD
kymo_err kymo_finish_load_brief(int fd, const kymo_finish_progress *progress, kymo_profile **out,
                                kymo_recording_info *info, kymo_error *detail);

/* load.c: kymo_recording_load_fd without them. */
KYMO_NODISCARD
kymo_err kymo_recording_load_without_markers(int fd, kymo_profile **out, kymo_recording_info *info,
                                             kymo_error *detail);

/* load.c: from the beginning of fd, a file, modules and stacks without samples, markers and
 * allocations, which are most of a recording. *end_at: where its END block begins; 0: it has none.
 */
KYMO_NODISCARD
kymo_err kymo_recording_load_code(int fd, kymo_profile **out, kymo_recording_info *info,
                                  uint64_t *end_at, kymo_error *detail);

/* Makes a recording self-contained: puts the names of its code into it.
 * fd: the recording, open for reading and writing, and used by no other thread or process. A
 * recording that has no END block, or is damaged, stays as it is: its names are found when it is
 * reported. progress and detail may be NULL. On an error of writing (a full disk) the recording is
 * as it was, unless the END block cannot be written again, either: then it lacks that. */
KYMO_NODISCARD
kymo_err kymo_store_symbols(int fd, const kymo_finish_progress *progress, kymo_error *detail);

/* symbol_events.c: every frame of the profile that lies in a file, once for each file and address,
 * whether it has a name or not. The handler needs no function but `symbols`. KYMO_E_NOMEM, or what
 * the handler returned. */
KYMO_NODISCARD
kymo_err kymo_symbol_events_send(const kymo_profile *profile, const kymo_event_handler *to,
                                 void *context);

#endif
