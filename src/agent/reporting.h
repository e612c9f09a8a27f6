/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporting.h - a recording in intervals, each of which becomes profiles that go to reporters.
 *
 * Layer:    agent
 * Flow:     launch.c (an interval has ended) -> [reporting] -> interval.c -> deliver.c -> reporters
 * Threads:  the recorder's
 * Memory:   its own, from create to destroy
 * Signals:  not for handlers
 *
 *   create -> intervals, for kymo_launch -> finish -> destroy
 *
 * Nothing that happens to a profile ends the recording: an interval that cannot be encoded or
 * delivered is counted, with the reason, and the next one is another.
 */
#ifndef KYMO_AGENT_REPORTING_H
#define KYMO_AGENT_REPORTING_H

#include "agent/deliver.h"
#include "agent/settings.h"
#include "launch/launch.h"

typedef struct kymo_reporting kymo_reporting;

/* What an agent needs of the system; tests have others. */
struct kymo_reporting_system {
    uint64_t (*monotonic_ns)(void *context);
    uint64_t (*realtime_ns)(void *context);
    void (*pause)(void *context, uint64_t ns);
    const struct kymo_deliver_workers *workers;
    void *context;
};
extern const struct kymo_reporting_system kymo_reporting_real_system;

struct kymo_reporting_counts {
    uint64_t intervals;    /* that have ended */
    uint64_t empty;        /* of them: nothing happened, nothing was sent */
    uint64_t broken;       /* of them: cut, or not encoded */
    uint64_t lost_records; /* in the profiles */
    uint64_t samples;
    uint64_t handler_ns; /* time in signal handlers of the program */
    uint64_t delivered;  /* to any reporter */
    uint64_t failures;
    uint64_t dropped;
    uint64_t last_delivery_ns; /* CLOCK_REALTIME; 0: none */
    kymo_error reason;         /* of the last failure; code KYMO_OK: none */
};

/* argv: of the program. It and settings, which have been checked, outlive the agent. Listens, where
 * settings say so. */
KYMO_NODISCARD
kymo_err kymo_reporting_create(const struct kymo_agent_settings *settings, char *const *argv,
                               const struct kymo_reporting_system *system, kymo_reporting **out,
                               kymo_error *detail);
/* Stops what is under way; what waits is dropped. */
void kymo_reporting_destroy(kymo_reporting *agent);

/* For kymo_launch; valid as long as the agent. */
const struct kymo_launch_intervals *kymo_reporting_intervals(const kymo_reporting *agent);
/* An empty file without a name, for the first interval; the caller's. -1 with detail. */
int kymo_reporting_open_file(const kymo_reporting *agent, kymo_error *detail);
/* Ends the present interval in the next round. */
void kymo_reporting_flush_now(kymo_reporting *agent);
/* Settings become others, all of them or none (change.h). change: of the recording. */
KYMO_NODISCARD
kymo_err kymo_reporting_set(kymo_reporting *agent, const char *text, kymo_launch_change *change,
                            void *change_context, kymo_error *detail);
/* Waits until everything is delivered, so long at most. Returns whether everything is. */
int kymo_reporting_finish(kymo_reporting *agent, uint64_t deadline_ns);
/* Where it listens, as kymo_listen_name has it; NULL: it does not. */
const char *kymo_reporting_listens_at(const kymo_reporting *agent);
void kymo_reporting_count(const kymo_reporting *agent, struct kymo_reporting_counts *status);

#endif
