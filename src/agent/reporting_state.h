/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporting_state.h - the state of reporting.h, and what its files have of each other.
 *
 * Layer:    agent
 * Flow:     reporting.c (begin, rounds, end), reporting_encode.c (intervals become files),
 *           reporting_change.c (other settings)
 * Threads:  the recorder's
 * Memory:   owned by reporting.c
 * Signals:  not for handlers
 */
#ifndef KYMO_AGENT_REPORTING_STATE_H
#define KYMO_AGENT_REPORTING_STATE_H

#include "agent/change.h"
#include "agent/interval.h"
#include "agent/pull.h"
#include "agent/reporting.h"
#include "agent/schedule.h"
#include "agent/split.h"
#include "base/vec.h"

struct kymo_reporting_interval {
    struct kymo_launch_interval of;
    uint64_t number;
};

/* Of an interval that is encoded: a file of one process. */
struct kymo_reporting_part {
    struct kymo_split_part of;
    int fd;
};

struct kymo_reporting {
    const struct kymo_agent_settings *settings;
    const struct kymo_reporting_system *system;
    struct kymo_launch_intervals for_launch;
    struct kymo_agent_identity who;
    char host[256];
    struct kymo_metadata metadata;
    struct kymo_metadata found_metadata;  /* the same without labels */
    struct kymo_agent_change *changed;    /* its settings are in force; NULL: those of the start */
    struct kymo_reporting_counts retired; /* of reporters that were replaced */
    struct kymo_worker finder;            /* of metadata */
    int is_finding;                       /* profiles for the network wait for it */
    int found;                            /* its file; -1: none */
    uint64_t found_by_ns;                 /* what it has found by then is what there is */
    struct kymo_schedule schedule;
    int is_scheduled;
    int names; /* -1: none */
    KYMO_VEC(struct kymo_reporting_interval)
    waiting; /* to be encoded; the first one may be under way */
    struct kymo_worker encoder;
    int is_encoding;
    struct kymo_interval_work work;
    int split; /* the encoder's socket; -1: none */
    KYMO_VEC(struct kymo_reporting_part) parts;
    uint64_t names_before; /* bytes, when the encoder started */
    struct kymo_deliver delivers[KYMO_AGENT_REPORTERS];
    struct kymo_pull pull;
    struct kymo_reporting_counts status;
};

static inline uint64_t kymo_reporting_now(const kymo_reporting *r)
{
    return r->system->monotonic_ns(r->system->context);
}

/* ---- reporting.c ---- */

void kymo_reporting_find_metadata(kymo_reporting *reporting);
/* Metadata are what was found, and the labels of the settings. */
void kymo_reporting_set_labels(kymo_reporting *reporting);

/* ---- reporting_encode.c ---- */

/* Adds an interval, whose file is the callee's from then on, also after KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_reporting_take(kymo_reporting *reporting, const struct kymo_launch_interval *of);
/* Hands on what has been encoded, and begins with the next one. */
void kymo_reporting_encode(kymo_reporting *reporting);
/* Stops what is under way; all that waits is dropped. */
void kymo_reporting_stop_encoding(kymo_reporting *reporting);

#endif
