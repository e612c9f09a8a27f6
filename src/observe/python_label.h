/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_label.h - labels a sample that the recorder makes with the asyncio task of its thread.
 *
 * Layer:    observe; above buffer
 * Flow:     wall.c, recorder/session_events.c -> [python_label] -> events of labels
 * Threads:  any
 * Memory:   nothing is kept
 * Signals:  not for handlers
 *
 * The handler does the same for its samples (capture/python_task.c).
 */
#ifndef KYMO_OBSERVE_PYTHON_LABEL_H
#define KYMO_OBSERVE_PYTHON_LABEL_H

#include <stdint.h>

#include "base/error.h"
#include "buffer/python_task.h"
#include "recording/events.h"

/* thread: its number in the recording. task: NULL or without a name: nothing is told. */
KYMO_NODISCARD
kymo_err kymo_python_label_tell(const kymo_event_handler *events, void *context, uint32_t thread,
                                uint64_t time_ns, const struct kymo_python_task *task);

#endif
