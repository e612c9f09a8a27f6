/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_heap.h - allocations, mappings and figures of memory for the sample recording.
 */
#ifndef KYMO_TESTS_SAMPLE_HEAP_H
#define KYMO_TESTS_SAMPLE_HEAP_H

#include "recording/events.h"

/* Of processes; what has to come before stacks, for a reader to give it back in the same order. */
kymo_err sample_heap_define(const kymo_event_handler *handler, void *ctx);
/* What comes behind everything else. */
kymo_err sample_heap_emit(const kymo_event_handler *handler, void *ctx);

#endif
