/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_text.h - events of a recording as text, one line each (a stack has one more per frame).
 *
 * The handler's ctx is a kymo_str. Two streams of events are the same if their texts are.
 */
#ifndef KYMO_TESTS_EVENT_TEXT_H
#define KYMO_TESTS_EVENT_TEXT_H

#include "base/str.h"
#include "recording/events.h"

extern const kymo_event_handler event_text_handler;

/* Its functions, one per event. */
#define X(name, type) kymo_err event_text_##name(void *ctx, const kymo_event_##type *e);
KYMO_EVENT_LIST(X)
#undef X

#endif
