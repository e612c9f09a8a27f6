/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_marks.h - markers, counters and labels for the sample recording: each kind of event, and
 * each way in which a payload can lie.
 */
#ifndef KYMO_TESTS_SAMPLE_MARKS_H
#define KYMO_TESTS_SAMPLE_MARKS_H

#include "recording/events.h"

/* What has to come before stacks and samples, for a reader to give it back in the same order. */
kymo_err sample_marks_define(const kymo_event_handler *handler, void *ctx);
/* What comes behind them. */
kymo_err sample_marks_emit(const kymo_event_handler *handler, void *ctx);

/* A recording that begins: process 7 with thread 9, category 2, type 3 of nothing, type 4 (a flag,
 * a text, two lists of cells; 48 bytes), sites 5 (no type), 6 (type 3), 8 (type 4), 1 (texts), 2
 * (formatted), 3 (values), literal 11, track 12, counter 13; process 8 with literal 14. All of them
 * ids that a reader changes. */
kymo_err few_marks_emit(const kymo_event_handler *handler, void *ctx);

#endif
