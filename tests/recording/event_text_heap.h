/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_text_heap.h - events of memory as lines of text; a part of event_text.h.
 */
#ifndef KYMO_TESTS_EVENT_TEXT_HEAP_H
#define KYMO_TESTS_EVENT_TEXT_HEAP_H

#include "recording/events.h"

/* Into a kymo_str. */
kymo_err event_text_allocation(void *ctx, const kymo_event_allocation *e);
kymo_err event_text_free(void *ctx, const kymo_event_free *e);
kymo_err event_text_resize(void *ctx, const kymo_event_resize *e);
kymo_err event_text_mapping(void *ctx, const kymo_event_mapping *e);
kymo_err event_text_inherit(void *ctx, const kymo_event_inherit *e);
kymo_err event_text_heap(void *ctx, const kymo_event_heap *e);
kymo_err event_text_ledger(void *ctx, const kymo_event_ledger *e);
kymo_err event_text_memory_info(void *ctx, const kymo_event_memory_info *e);

#endif
