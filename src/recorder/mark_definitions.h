/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_definitions.h - turns a session's definitions into the events of a recording.
 *
 * Layer:    recorder
 * Flow:     buffer/drain_definitions.c -> [mark_definitions] -> recording writer
 * Threads:  the recorder's one thread
 * Memory:   none that outlives a call
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_MARK_DEFINITIONS_H
#define KYMO_RECORDER_MARK_DEFINITIONS_H

#include "buffer/definition.h"
#include "recording/events.h"

/* A definition that the drain has checked. Ids of the events are the definitions' numbers.
 * *counter is filled for those. */
KYMO_NODISCARD
kymo_err kymo_mark_definition_tell(const kymo_event_handler *events, void *context,
                                   uint32_t process, const struct kymo_definition *definition,
                                   kymo_event_counter *counter);

#endif
