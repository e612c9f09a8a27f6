/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_labels.h - of the changes of labels that a ring drops, those that still hold.
 *
 * Layer:    recording
 * Flow:     recording_ring.c (blocks that are dropped) -> [labels] -> recording_write.c, at the end
 * Threads:  the writer's
 * Memory:   the writer owns the structure, which owns copies of keys and texts
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_RECORDING_LABELS_H
#define KYMO_RECORDING_RECORDING_LABELS_H

#include "base/vec.h"
#include "recording/events.h"

struct kymo_thread_labels {
    KYMO_VEC(kymo_event_label) live; /* in the order in which they came */
};

struct kymo_kept_labels {
    KYMO_VEC(struct kymo_thread_labels) threads; /* by thread */
};

/* The next change of the thread's labels: what it ends is forgotten. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_kept_labels_take(struct kymo_kept_labels *kept, const kymo_event_label *e);
/* Calls label for each one. Forwards its error. */
KYMO_NODISCARD
kymo_err kymo_kept_labels_send(const struct kymo_kept_labels *kept, const kymo_event_handler *to,
                               void *ctx);
/* The thread has none any more. */
void kymo_kept_labels_forget(struct kymo_kept_labels *kept, uint32_t thread);
void kymo_kept_labels_deinit(struct kymo_kept_labels *kept);

#endif
