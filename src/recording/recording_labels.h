/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_labels.h - keeps the label changes that a ring drops and that still apply.
 *
 * Layer:    recording
 * Flow:     recording_ring.c (chunks that are dropped) -> [labels] -> recording_write.c, at the end
 * Threads:  the writer's
 * Memory:   the writer owns the structure, which owns copies of keys and texts
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_RECORDING_LABELS_H
#define KYMO_RECORDING_RECORDING_LABELS_H

#include "base/vec.h"
#include "recording/events.h"

struct kymo_thread_labels {
    KYMO_VEC(kymo_event_label) live; /* in order of arrival */
};

struct kymo_kept_labels {
    KYMO_VEC(struct kymo_thread_labels) threads; /* by thread */
};

/* Adds the next change of a thread's labels, and removes those that it undoes. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_kept_labels_take(struct kymo_kept_labels *kept, const kymo_event_label *e);
/* Calls `label` for each change. Forwards its error. */
KYMO_NODISCARD
kymo_err kymo_kept_labels_send(const struct kymo_kept_labels *kept, const kymo_event_handler *to,
                               void *ctx);
/* Removes all labels of a thread. */
void kymo_kept_labels_forget(struct kymo_kept_labels *kept, uint32_t thread);
void kymo_kept_labels_deinit(struct kymo_kept_labels *kept);

#endif
