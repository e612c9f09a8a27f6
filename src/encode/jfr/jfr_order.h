/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_order.h - events of many sources, each in the order of their times, become one such order.
 *
 * Layer:    encode; above profile
 * Flow:     jfr_samples.c, jfr_markers.c, ... -> [jfr_order] -> jfr_chunk.c
 * Threads:  one owner at a time
 * Memory:   32 bytes for each source
 * Signals:  not for handlers
 *
 * The format does not ask for it. But then each chunk is a part of the recording's time.
 */
#ifndef KYMO_ENCODE_JFR_JFR_ORDER_H
#define KYMO_ENCODE_JFR_JFR_ORDER_H

#include "encode/jfr/jfr.h"

typedef struct kymo_jfr_source {
    uint64_t time_ns; /* of what comes next, since the profile's zero */
    uint64_t next;    /* its place, as the source counts */
    uint32_t kind;
    uint32_t of; /* the thread, counter or process */
} kymo_jfr_source;

typedef struct kymo_jfr_source_kind {
    kymo_table of; /* there is a source for each row of this table */
    /* Sets time_ns, once for each event; 0: there is no more. */
    int (*look)(kymo_jfr *w, kymo_jfr_source *source);
    /* Writes the events of what is next, and goes on. */
    void (*put)(kymo_jfr *w, kymo_jfr_source *source);
} kymo_jfr_source_kind;

extern const kymo_jfr_source_kind kymo_jfr_samples;
extern const kymo_jfr_source_kind kymo_jfr_markers;
extern const kymo_jfr_source_kind kymo_jfr_counters;
extern const kymo_jfr_source_kind kymo_jfr_blocks;
extern const kymo_jfr_source_kind kymo_jfr_mappings;

KYMO_NODISCARD
kymo_err kymo_jfr_put_in_order(kymo_jfr *w, const kymo_jfr_source_kind *const *kinds,
                               uint32_t count);

#endif
