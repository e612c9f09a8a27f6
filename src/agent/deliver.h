/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliver.h - profiles on their way to one reporter: one at a time, again after a failure, and no
 * more of them than a limit.
 *
 * Layer:    agent
 * Flow:     agent.c (a profile is there) -> [deliver] -> reporter.h, in a worker for each try
 * Threads:  the agent's
 * Memory:   the profiles that wait are files without a name, shared by all reporters that want them
 * Signals:  not for handlers
 *
 * After a failure the next try is after a pause that doubles from one second to a minute, shortened
 * by chance by up to a half, so that a thousand agents do not come back to a store together. When
 * the profiles that wait are too large together, the oldest is dropped and counted.
 */
#ifndef KYMO_AGENT_DELIVER_H
#define KYMO_AGENT_DELIVER_H

#include "agent/reporter.h"
#include "base/vec.h"
#include "recorder/worker.h"

#define KYMO_DELIVER_FIRST_PAUSE_NS 1000000000ull
#define KYMO_DELIVER_LONGEST_PAUSE_NS 60000000000ull
/* A try that takes longer is ended: the next one may meet a server that answers. */
#define KYMO_DELIVER_PATIENCE_NS 60000000000ull

#define KYMO_SHARED_FILE_NAME_MAX 64u

/* A file that several deliveries share. */
struct kymo_shared_file {
    int fd;
    uint32_t users;
    uint64_t bytes;
    /* Of a profile of one process: whose it is. */
    struct kymo_agent_identity who;
    char program[KYMO_SHARED_FILE_NAME_MAX];
};

struct kymo_shared_file *kymo_shared_file_create(int fd);
void kymo_shared_file_release(struct kymo_shared_file *file);

struct kymo_delivery {
    struct kymo_shared_file *file;
    struct kymo_interval_profile profile;
};

/* Starts work and asks for its result; a test has others. */
struct kymo_deliver_workers {
    kymo_err (*start)(struct kymo_worker *worker, kymo_worker_work *work, void *context,
                      const int *fds, size_t count);
    int (*has_ended)(struct kymo_worker *worker, struct kymo_worker_result *result);
    void (*stop)(struct kymo_worker *worker);
};
extern const struct kymo_deliver_workers kymo_deliver_processes;

struct kymo_deliver_counts {
    uint64_t delivered;
    uint64_t failures; /* tries */
    uint64_t dropped;  /* profiles: no room, refused for good, or left when the agent ended */
    uint64_t last_ns;  /* CLOCK_REALTIME of the last delivery; 0: none */
    kymo_error reason; /* of the last failure */
};

struct kymo_deliver {
    const struct kymo_reporter *reporter;
    const struct kymo_deliver_workers *workers;
    uint64_t most_bytes;
    KYMO_VEC(struct kymo_delivery) waiting; /* oldest first; the first one may be in work */
    uint64_t bytes;                         /* of them */
    struct kymo_worker worker;
    int is_working;
    uint64_t started_ns;
    uint64_t pause_ns; /* after the last failure; 0: there was none */
    uint64_t next_ns;  /* no try before */
    struct kymo_deliver_counts counts;
};

void kymo_deliver_init(struct kymo_deliver *deliver, const struct kymo_reporter *reporter,
                       const struct kymo_deliver_workers *workers, uint64_t most_bytes);
/* Stops what is under way, and drops and counts what waits. */
void kymo_deliver_deinit(struct kymo_deliver *deliver);
/* Takes a profile; the file gets one user more. Its profile's fd and bytes are set here. */
KYMO_NODISCARD
kymo_err kymo_deliver_put(struct kymo_deliver *deliver, struct kymo_shared_file *file,
                          const struct kymo_interval_profile *profile);
/* Looks at what is under way, and starts what is due. Times are of CLOCK_MONOTONIC. */
void kymo_deliver_round(struct kymo_deliver *deliver, uint64_t now_ns, uint64_t realtime_ns);
/* Whether nothing waits. */
int kymo_deliver_is_done(const struct kymo_deliver *deliver);
/* The program is ending: what waits is tried at once. */
void kymo_deliver_hurry(struct kymo_deliver *deliver);

#endif
