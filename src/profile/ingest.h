/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest.h - events of a recording become the tables of a profile.
 *
 * Layer:    profile; above base
 * Flow:     recording/recording_read.c (or a drain) -> events.h -> [ingest] -> kymo/profile.h
 * Threads:  one owner at a time
 * Memory:   an ingest owns what it needs on the way; the profile is the caller's
 * Signals:  not for handlers
 *
 * Ids in events must be as a reader gives them: dense from 0, in the order of appearance.
 *
 * Use:  KYMO_TRY(kymo_ingest_create(profile, &ingest));
 *       ... kymo_ingest_handler.thread(ingest, &event); ...
 *       KYMO_TRY(kymo_ingest_finish(ingest));
 *       kymo_ingest_destroy(ingest);
 */
#ifndef KYMO_PROFILE_INGEST_H
#define KYMO_PROFILE_INGEST_H

#include "kymo/profile.h"
#include "recording/events.h"

typedef struct kymo_ingest kymo_ingest;

/* A note of the recording. */
typedef struct kymo_ingest_note {
    uint64_t time_ns;
    uint32_t process; /* KYMO_NONE: about the whole recording */
    uint32_t severity;
    const char *text;
} kymo_ingest_note;

/* The bytes of a module that is not a file (the vdso). */
typedef struct kymo_ingest_image {
    uint32_t module; /* id in the profile */
    uint32_t len;
    const uint8_t *bytes;
} kymo_ingest_image;

/* What a recording says that a profile has no table for. The pointers live as long as the ingest.
 */
typedef struct kymo_ingest_extra {
    const char *engine_reason;
    const char *options;
    const kymo_ingest_note *notes;
    const kymo_ingest_image *images;
    size_t note_count;
    size_t image_count;
    uint32_t hz;
    int clean; /* the program ended before the recorder did */
} kymo_ingest_extra;

/* profile: empty; stays the caller's, and must outlive the ingest. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_ingest_create(kymo_profile *profile, kymo_ingest **out);
/* Call before the first event. Leaves out markers, counts and labels, which can be ten thousand
 * times as many as everything else. */
void kymo_ingest_skip_markers(kymo_ingest *ingest);
/* Keeps the interpreter's own frames between those of scripts. Before the first event. */
void kymo_ingest_keep_interpreter(kymo_ingest *ingest);
/* Traced calls that are shorter than min_ns are left out: their time is their caller's. folds: a
 * function that calls itself is one frame. Before the first event. */
void kymo_ingest_shape_calls(kymo_ingest *ingest, uint64_t min_ns, int folds);
/* Symbols that come from now on are of other recordings: frames that they do not name have not been
 * looked up. After the last other event. */
void kymo_ingest_begin_names(kymo_ingest *ingest);
/* NULL is allowed. */
void kymo_ingest_destroy(kymo_ingest *ingest);

/* ctx: the ingest. Functions fail with KYMO_E_NOMEM, KYMO_E_TOO_BIG (a limit of kymo/profile.h), or
 * KYMO_E_INVALID for an id that is not dense; the ingest can only be destroyed then. */
extern const kymo_event_handler kymo_ingest_handler;

/* Call once, after the last event. Adds the samples that were held back, the ends and figures of
 * threads and processes, and the quality; then finishes the profile. */
KYMO_NODISCARD
kymo_err kymo_ingest_finish(kymo_ingest *ingest);

kymo_ingest_extra kymo_ingest_get_extra(const kymo_ingest *ingest);

#endif
