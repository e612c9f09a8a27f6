/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - the recorder's side of one session: makes it, hands it out, drains it, arms its threads.
 *
 * Layer:    recorder
 * Flow:     session <- [host] -> recording writer
 * Threads:  the recorder's one thread
 * Memory:   owns the shared memory; it outlives the program, however that dies
 * Signals:  not for handlers
 *
 *   create -> welcome (the program maps it) -> armed by rounds -> rounds ... -> finish -> destroy
 */
#ifndef KYMO_RECORDER_HOST_H
#define KYMO_RECORDER_HOST_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "buffer/session.h"
#include "profile/events.h"
#include "recorder/perf_event.h"
#include "sys/clock.h"

/* What all sessions of a recording have in common. */
struct kymo_host_config {
    uint64_t buffer_bytes;
    uint64_t period_ns;
    uint32_t depth;
    int signal;
    enum kymo_session_engine engine;
    enum kymo_perf_access access; /* of the perf engine */
    enum kymo_clock_kind clock;
    const kymo_event_handler *events; /* where what is drained goes */
    void *events_context;
};

typedef struct kymo_host kymo_host;

/* process: its id in the recording; the process event must be written before the first round. */
KYMO_NODISCARD
kymo_err kymo_host_create(const struct kymo_host_config *config, uint32_t process, kymo_host **out,
                          kymo_error *detail);
void kymo_host_destroy(kymo_host *host);

/* The descriptor of the shared memory, to be sent to the program; the size of the session, and of
 * the table area behind it. */
int kymo_host_memory(const kymo_host *host);
uint64_t kymo_host_bytes(const kymo_host *host);
uint64_t kymo_host_table_bytes(const kymo_host *host);

/* The program whose session this is has attached. */
void kymo_host_attached(kymo_host *host, pid_t pid);
/* Whether its main thread has taken its place in the session. */
int kymo_host_is_attached(const kymo_host *host);

/* One round: what was recorded goes to the events; threads that began are armed, those that ended
 * are disarmed; every tenth of a second /proc is asked for threads that nobody announced. */
KYMO_NODISCARD
kymo_err kymo_host_round(kymo_host *host);

/* Waits up to timeout_ns for a thread to begin; returns at once on a signal. */
void kymo_host_wait(kymo_host *host, uint64_t timeout_ns);

/* No more samples from now on. */
void kymo_host_stop(kymo_host *host);

/* The last round; ends all threads, and writes losses and quality. main_cpu_ns: CPU time of the
 * main thread if it is known from elsewhere, else 0. */
KYMO_NODISCARD
kymo_err kymo_host_finish(kymo_host *host, uint64_t end_ns, uint64_t main_cpu_ns);

#endif
