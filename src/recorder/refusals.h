/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals.h - notes of programs that were started but not recorded, with the reason.
 *
 * Layer:    recorder
 * Flow:     buffer/refusal.h, tree.c -> [refusals] -> notes
 * Threads:  the recorder's main thread
 * Memory:   a bounded table: one program is named once, however often it is started
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_REFUSALS_H
#define KYMO_RECORDER_REFUSALS_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "buffer/session.h"
#include "recording/events.h"

struct kymo_refused {
    uint32_t reason;
    int is_sampled; /* from outside */
    uint64_t count;
    char path[sizeof((struct kymo_refusal *)0)->path];
};

typedef struct kymo_refusals {
    const kymo_event_handler *events;
    void *context;
    int wants_more; /* than CPU samples: what is sampled from outside lacks that */
    KYMO_VEC(struct kymo_refused) programs;
    uint64_t others; /* not in the full table, or overwritten before they were read */
} kymo_refusals;

/* process: the one that started the program, or is_sampled: the program's own. */
KYMO_NODISCARD
kymo_err kymo_refusals_add(kymo_refusals *refusals, uint32_t process,
                           const struct kymo_refusal *refusal, int is_sampled);
/* At the end: writes how often each was started. */
KYMO_NODISCARD
kymo_err kymo_refusals_finish(kymo_refusals *refusals);
void kymo_refusals_deinit(kymo_refusals *refusals);

#endif
