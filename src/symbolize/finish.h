/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.h - from a .kymo file to a profile with names.
 *
 * Layer:    symbolize; above symbolize, kymo/recording.h
 * Flow:     .kymo -> [finish] -> kymo_profile -> kymo/encode.h, kymo/report.h
 * Threads:  one owner
 * Memory:   the caller owns the profile and the info that come out
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_FINISH_H
#define KYMO_SYMBOLIZE_FINISH_H

#include "base/error.h"
#include "kymo/profile.h"
#include "kymo/recording.h"

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

#endif
