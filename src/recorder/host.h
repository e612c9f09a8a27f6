/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - the recorder's side of one session: makes it, hands it out, drains it, arms its threads.
 *
 * Layer:    recorder
 * Flow:     session <- [host] -> recording writer
 * Threads:  the recorder's main thread
 * Memory:   owns the shared memory; it outlives the program, however that dies
 * Signals:  not for handlers
 *
 *   create -> attached (the program has mapped it) -> rounds, which arm its threads ... -> finish
 * -> destroy
 */
#ifndef KYMO_RECORDER_HOST_H
#define KYMO_RECORDER_HOST_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "buffer/session.h"
#include "control/categories.h"
#include "observe/dispatch.h"
#include "observe/perf_event.h"
#include "observe/unseen.h"
#include "observe/wall.h"
#include "recorder/row_tables.h"
#include "recording/events.h"
#include "sys/clock.h"

/* Threads that the kernel's tick samples, although the engine is perf. */
struct kymo_tick_threads {
    uint32_t switchers; /* since they switch often */
    uint32_t refused;   /* since perf would not have them */
    int error;          /* for which it refused the first */
};

/* What all sessions of a recording have in common. */
struct kymo_host_config {
    const char *tree; /* that its sessions' memory is named after; NULL: none */
    uint64_t buffer_bytes;
    uint64_t period_ns;
    uint32_t depth;
    int signal;       /* by which samples are to arrive at first */
    int signal_fixed; /* and for ever: the user gave it */
    enum kymo_session_engine engine;
    enum kymo_perf_access access; /* of the perf engine */
    int spares_switchers;         /* threads that switch often have no perf event */
    kymo_dispatch *dispatch;      /* also for threads that cannot have a perf event; NULL: none */
    enum kymo_clock_kind clock;
    uint64_t counters_period_ns;              /* of telemetry; 0: none */
    uint64_t earliest_ns;                     /* the recording's beginning; 0: the session's */
    struct kymo_kernel_stacks *kernel_stacks; /* NULL: none; the launcher's */
    const kymo_event_handler *events;         /* where what is drained goes */
    void *events_context;
    struct kymo_recording_writer *writer; /* that this ends in; NULL: in no file */
    int spool;                            /* its file */
    uint32_t flags;                       /* enum kymo_session_flags */
    uint64_t alloc_rate;     /* mean bytes between two allocations that are recorded; 0: none */
    const char *markers;     /* which categories are on, as capture/mark_select.c has it */
    kymo_row_tables *tables; /* NULL: none */
    kymo_unseen *unseen;     /* NULL: allocations are not recorded */
    kymo_wall_shared *wall;  /* NULL: no wall time */
    uint32_t *next_thread;   /* number of the recording's next thread */
    struct kymo_tick_threads *tick_threads;
};

typedef struct kymo_host kymo_host;

/* What the memory of such a tree's sessions is called where a process maps it. Too small an out
 * cuts it off. */
void kymo_host_memory_name(const char *tree, char *out, size_t cap);

KYMO_NODISCARD
kymo_err kymo_host_create(const struct kymo_host_config *config, kymo_host **out,
                          kymo_error *detail);
void kymo_host_destroy(kymo_host *host);

/* The descriptor of the shared memory, to be sent to the program, and its size; once the program
 * has it, the recorder needs the descriptor no more. */
int kymo_host_memory(const kymo_host *host);
uint64_t kymo_host_bytes(const kymo_host *host);
void kymo_host_close_memory(kymo_host *host);

/* The process is in a pid namespace of its own: what its threads call themselves are no numbers of
 * ours. They arm themselves, by timers. Before the program maps the session. */
void kymo_host_set_foreign(kymo_host *host);

/* The process image whose session this is has attached. process: its id in the recording, whose
 * process event has been written. main_cpu_before: what its main thread had used before this image.
 */
void kymo_host_attached(kymo_host *host, pid_t pid, uint32_t process, uint64_t main_cpu_before);
/* Whether its main thread has taken its place in the session. */
int kymo_host_is_attached(const kymo_host *host);

/* One round: what was recorded goes to the events; threads that began are armed, those that ended
 * are disarmed; every tenth of a second /proc is asked for threads that no hook announced. */
KYMO_NODISCARD
kymo_err kymo_host_round(kymo_host *host);
/* The first one, while the process waits for us: what can wait does. */
KYMO_NODISCARD
kymo_err kymo_host_first_round(kymo_host *host);
/* A look at every thread, for wall time. */
KYMO_NODISCARD
kymo_err kymo_host_tick(kymo_host *host, uint64_t now_ns);
/* From now on what the system says of the process is recorded. is_program: it is the one that the
 * recorder started. is_forked: some of its memory is its parent's. After kymo_host_attached. */
void kymo_host_watch_system(kymo_host *host, int is_program, int is_forked);
/* What it says, if it is time to ask; also where no round is due. */
KYMO_NODISCARD
kymo_err kymo_host_look_at_system(kymo_host *host, uint64_t now_ns);
/* For a process in which nothing happens: it is to know that we live. */
void kymo_host_beat(kymo_host *host);
/* Whether threads have begun since the last round, or filled many blocks; then they are armed, and
 * read, at once. */
int kymo_host_has_rung(const kymo_host *host);
/* Arms those that have begun. */
KYMO_NODISCARD
kymo_err kymo_host_hear(kymo_host *host);
/* The same, and reads what is there if that is due: up to some 8 MiB. */
KYMO_NODISCARD
kymo_err kymo_host_answer(kymo_host *host);
/* Of a process that has ended: some more of what it has left. */
KYMO_NODISCARD
kymo_err kymo_host_read(kymo_host *host);
/* When blocks that were filled want another answer, since the last one was too short a while ago,
 * or did not come to the end; UINT64_MAX: there are none. */
uint64_t kymo_host_due_ns(const kymo_host *host);
/* Whether the last answer did not come to the end. */
int kymo_host_is_behind(const kymo_host *host);

/* The path of what the process runs since a round found that it is another program, or "" */
const char *kymo_host_replaced_by(const kymo_host *host);
/* What the hook before an exec said of the main thread's CPU clock; what the samples of the main
 * thread stand for where it said nothing that can be. */
uint64_t kymo_host_main_cpu_ns(const kymo_host *host, uint64_t at_most_ns);
/* The next program that the process started without us; as kymo_refusal_read. */
int kymo_host_refusal(kymo_host *host, struct kymo_refusal *out, uint64_t *missed);

/* What has become of a list. */
enum kymo_host_selected {
    KYMO_HOST_TOLD,  /* the process says that its categories follow it */
    KYMO_HOST_LATER, /* it does not say so yet: it looks when it runs, or takes its next block */
    KYMO_HOST_NEVER, /* it runs another program, which is not recorded */
};

/* Which categories of markers are on from now on. */
void kymo_host_select(kymo_host *host, const char *markers);
/* To be asked after that, and again: it calls the process if that is not done. */
enum kymo_host_selected kymo_host_selected(kymo_host *host);

/* Mean bytes between two allocations that are recorded from now on; 0: none are. */
void kymo_host_set_alloc_rate(kymo_host *host, uint64_t rate);

/* Whether all that was recorded before that moment has gone to the events. */
int kymo_host_has_read(const kymo_host *host, uint64_t since_ns);

/* Whether the process ever forked, or started a program that may attach. */
int kymo_host_has_relatives(const kymo_host *host);

/* No more samples or markers from now on; the process is called, to see it. */
void kymo_host_stop(kymo_host *host);

/* Adds the categories of markers that the process has by now. */
KYMO_NODISCARD
kymo_err kymo_host_add_categories(const kymo_host *host, struct kymo_categories *categories);

/* The last round; ends all threads, and writes losses and quality. main_cpu_ns: CPU clock of the
 * main thread if it is known from elsewhere, else 0. is_followed: by another image in the same
 * process, which is recorded, too. */
KYMO_NODISCARD
kymo_err kymo_host_finish(kymo_host *host, uint64_t end_ns, uint64_t main_cpu_ns, int is_followed);
/* What it said of its quality; after finish. */
kymo_event_quality kymo_host_quality(const kymo_host *host);
/* Threads that it had, as far as they were read. */
size_t kymo_host_thread_count(const kymo_host *host);
/* CPU time of all its threads in this image; after finish. */
uint64_t kymo_host_cpu_ns(const kymo_host *host);

#endif
