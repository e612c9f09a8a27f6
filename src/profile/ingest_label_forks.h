/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_label_forks.h - from which thread a forked child inherits its labels, and an order of all
 * threads in which parents come before children.
 *
 * Layer:    profile
 * Flow:     ingest_labels.c <-> [forks]
 * Threads:  the ingest's
 * Memory:   kymo_label_forks_deinit frees what find makes
 * Signals:  not for handlers
 */
#ifndef KYMO_PROFILE_INGEST_LABEL_FORKS_H
#define KYMO_PROFILE_INGEST_LABEL_FORKS_H

#include "profile/ingest_state.h"

struct kymo_label_origin {
    uint32_t thread; /* KYMO_NONE: no parent, or an unknown one */
    uint32_t fork;   /* in marks.label_forks */
};

/* One entry for each entry of marks.labels. */
typedef struct kymo_label_forks {
    struct kymo_label_origin *origins; /* by thread */
    uint32_t *order;                   /* threads */
} kymo_label_forks;

/* Keeps an event KYMO_LABEL_INHERITED of a thread that has no label change yet. */
KYMO_NODISCARD
kymo_err kymo_label_forks_add(kymo_ingest *in, const kymo_event_label *e);
/* forks: zeroed by the caller, who must also deinit it after an error. */
KYMO_NODISCARD
kymo_err kymo_label_forks_find(const kymo_ingest *in, kymo_label_forks *forks);
void kymo_label_forks_deinit(kymo_label_forks *forks);

#endif
