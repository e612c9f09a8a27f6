/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_state.h - state of one session; for the files that implement host.h.
 *
 * Layer:    recorder
 * Flow:     host.c (life, rounds), host_arm.c (threads and their events), host_copies.c (samples
 *           without a signal), host_outside.c (a process without our library), host_signal.c (which
 *           signal), host_scan.c (/proc), host_sweep.c (stacks that are forgotten)
 * Threads:  the recorder's main thread
 * Memory:   owned by host.c
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_HOST_STATE_H
#define KYMO_RECORDER_HOST_STATE_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "buffer/drain.h"
#include "observe/task.h"
#include "observe/telemetry.h"
#include "recorder/allocator_events.h"
#include "recorder/host.h"
#include "recorder/ledger.h"
#include "recorder/row_tables.h"
#include "recorder/session_events.h"

/* Silence of the recorder after which a program stops capturing: far longer than any pause of a
 * live recorder, short compared with the cost of a dead one. */
#define KYMO_HOST_SILENCE_NS 5000000000ull

/* What a thread has used before its first copy is in that, up to so many periods. */
#define KYMO_HOST_OWED_PERIODS 8u

/* State of a slot's thread. */
struct kymo_host_slot {
    uint32_t generation;
    int open; /* between thread_begin and thread_end */
    pid_t tid;
    int fd;               /* -1: no perf event */
    uint32_t dispatched;  /* its number with the dispatcher + 1; 0: none */
    int rests_dispatched; /* the dispatcher gets it back after the pause */
    int with_kernel;
    int is_copied;         /* the event has a ring with stacks, and sends no signal */
    uint64_t counted_ns;   /* CPU time that its closed events have counted */
    uint32_t idle_looks;   /* from outside: for how many looks at all rings it had no sample */
    int is_unfit;          /* it shall have no such event (again) */
    int sleeps;            /* it slept of its own will before the last check */
    int switches_much;     /* switches often: has only the timer, no event */
    int is_refused;        /* by perf */
    int is_by_tick;        /* was sampled at a tick; ingest averages its weights */
    uint64_t seen_samples; /* at the last look, which need not have been a check */
    uint32_t checks;
    uint64_t checked_samples;
    uint64_t checked_cpu_ns;
    uint64_t checked_ns;
    uint64_t switches;  /* voluntary ones at the last check */
    uint64_t runs;      /* and how often it had got a CPU */
    int times;          /* of a busy thread, kept open; -1: not */
    uint64_t seen_scan; /* the last scan of /proc that found the tid */
    uint64_t named_samples;
    uint64_t status_samples;       /* at the last look at its status */
    struct kymo_host_tasks *tasks; /* from outside: tells what it makes; NULL: nothing does */
    int named;                     /* name and named_samples are valid */
    char name[16];
};

/* A thread that /proc shows and that has no slot. */
struct kymo_host_stranger {
    pid_t tid;
    uint32_t calls; /* signals that it did not answer */
    int told;       /* known to the wall clock's watch of threads without a slot */
    uint64_t scan;
};

/* A thread from outside that has ended just now. */
#define KYMO_HOST_ENDED 64u

struct kymo_host_ended {
    pid_t tid;
    uint64_t end_ns;
};

struct kymo_host {
    struct kymo_host_config config;
    pid_t pid;
    struct kymo_task_exe exe; /* the executable when it attached */
    uint64_t auxv;            /* where `image` is not open: kymo_task_auxv_hash, else 0 */
    int is_as_told;           /* these are as the process has said, not as /proc has them */
    int image;                /* its address space then; -1: not known */
    int replaced;             /* has called exec since */
    char replaced_by[PATH_MAX];
    int foreign;    /* in another pid namespace */
    int is_outside; /* our library is not in it */
    int is_found_late,
        is_looked_at; /* of such a one: as set_outside has it; its threads are known */
    int memory;
    int main_event;           /* of the main thread, until that is armed; -1: none */
    uint64_t main_period_ns;  /* of that event */
    int is_filtered;          /* had a seccomp filter when it attached */
    uint32_t handler_samples; /* the session's, which the program can write */
    struct kymo_session *session;
    struct kymo_session_plan plan;
    uint32_t tables_given;
    uint32_t refusals_seen;
    uint64_t counted_samples; /* samples already reported to the row tables */
    kymo_drain *drain;
    struct kymo_host_slot *slots;
    uint32_t slots_seen; /* slots used so far; memory of the others is not touched */
    int is_late;         /* no hook announces threads */
    uint64_t next_scan_ns;
    uint64_t next_threads_ns; /* from outside: when they are looked for again */
    uint64_t threads_taken;   /* and how many were found */
    uint32_t threads_refused; /* by a session that is full, in the look at hand */
    uint32_t threads_lost;    /* and how many of these were told */
    struct kymo_host_ended ended[KYMO_HOST_ENDED];
    uint32_t n_ended;
    uint64_t next_share_ns;
    uint32_t next_ringless; /* slot from which threads without a ring are looked for */
    int has_mapped;         /* code, since its modules were read at renewed_ns */
    uint64_t renewed_ns;
    uint64_t last_round_ns;
    int is_stopped; /* nothing is armed any more */
    int revive;     /* the last round came very late */
    uint64_t scan;
    uint32_t listed; /* threads in the last scan */
    int signal;      /* signal of samples; 0: none */
    int signal_lost; /* our handler is no longer installed: nothing is sent */
    int has_status;
    struct kymo_task_status status; /* of the main thread when it attached */
    int said_wanted;                /* noted that the program uses the signal that the user chose */
    int said_signals;               /* how often a change of the signal was noted */
    uint32_t woken;                 /* the session's count of threads at the last arming */
    uint32_t filled;                /* the session's count of filled blocks at the last drain */
    uint64_t drained_ns;
    uint64_t lap_ns;                     /* when the current lap (see doc/design.md) began */
    uint64_t read_ns;                    /* when the last complete lap began */
    uint32_t control_seq;                /* number of the list written last */
    int control_called;                  /* and the process was signalled for it */
    uint64_t told_lost[KYMO_LOSS_KINDS]; /* losses already written to the recording */
    uint64_t told_lost_ns;
    size_t stacks_left, unloads_left; /* by the last sweep */
    KYMO_VEC(struct kymo_host_stranger) strangers;
    struct kymo_session_events out;
    kymo_telemetry *telemetry; /* NULL: none */
    kymo_ledger_book *ledger;  /* NULL: none */
    struct kymo_allocator_events allocator;
    kymo_event_quality quality; /* as recorded at the end */
};

/* ---- host_arm.c ---- */

/* Arms new threads, disarms ended ones. */
KYMO_NODISCARD
kymo_err kymo_host_arm_threads(kymo_host *host, uint64_t now_ns);
/* Takes the samples that came without a signal, and ends or replaces the events of threads that
 * need a handler or longer copies. */
KYMO_NODISCARD
kymo_err kymo_host_read_copies(kymo_host *host);
/* Closes the event that the process was to start itself. */
void kymo_host_drop_event(kymo_host *host);
/* Closes the thread's event. */
void kymo_host_close_event(kymo_host *host, struct kymo_host_slot *slot);
/* Closes what samples the slot's thread from outside. */
void kymo_host_disarm(kymo_host *host, uint32_t slot);
/* The slot of a thread; UINT32_MAX: none. */
uint32_t kymo_host_slot_of(const kymo_host *host, pid_t tid);
/* Sends a signal with our cookie to one thread, which then checks its slot. */
void kymo_host_call_thread(const kymo_host *host, pid_t tid);
/* Sends it to the main thread or, if that has ended or blocks the signal, to any other. Returns
 * whether it was sent. */
int kymo_host_call_process(const kymo_host *host);
/* After the recorder was stopped (Ctrl-Z) for so long that threads took it for dead and disarmed
 * their timers: re-arms them. Call one round later, when all threads have seen the heartbeat. */
void kymo_host_revive_timers(kymo_host *host);

/* The slot's thread has this event, which is not enabled, instead of the one that it had; and lets
 * it run, unless in a pause. */
enum kymo_host_event { KYMO_HOST_EVENT_USER, KYMO_HOST_EVENT_KERNEL, KYMO_HOST_EVENT_COPIES };
void kymo_host_replace_event(kymo_host *host, uint32_t slot, int fd, enum kymo_host_event kind);
/* Tells events and timers of config.period_ns; before it was that. */
void kymo_host_follow_period(kymo_host *host, uint64_t before_ns);
/* A pause: no event raises a signal, and the dispatcher has no thread. Then all as before. */
void kymo_host_rest(kymo_host *host);
void kymo_host_go_on(kymo_host *host);

/* ---- host_copies.c ---- */

/* Samples of the slot's thread so far, by its handler and without. */
uint64_t kymo_host_samples(const kymo_host *host, uint32_t slot);
/* Replaces the thread's event by one without a signal, if it may have one; returns whether. */
int kymo_host_copy_stacks(kymo_host *host, uint32_t slot);
/* Chooses when the threads of a process that is known by its executable do without their handlers.
 */
void kymo_host_expect_copies(kymo_host *host);
/* Walks the copies of all such events: the samples that came since. */
KYMO_NODISCARD
kymo_err kymo_host_walk_copies(kymo_host *host);
/* Takes what is left of such an event, which is about to be closed. */
void kymo_host_end_copies(kymo_host *host, uint32_t slot);
/* Whether the thread has one, and needs its handler. */
int kymo_host_must_end_copies(const kymo_host *host, uint32_t slot);

/* ---- host_outside.c ---- */

/* The thread runs, and has no slot yet. */
void kymo_host_take_slot(kymo_host *host, pid_t tid);
/* Begins to sample the thread of a slot that was taken so, and ends what tells of its threads. */
void kymo_host_begin_outside(kymo_host *host, uint32_t slot);
void kymo_host_end_outside(kymo_host *host, uint32_t slot);
/* Gives the rings of threads that are idle to those that have none and work. */
void kymo_host_share_rings(kymo_host *host, uint64_t now_ns);
/* Looks for threads, and arms them. */
KYMO_NODISCARD
kymo_err kymo_host_look_for_threads(kymo_host *host, uint64_t now_ns);

/* ---- host_sweep.c ---- */

/* Between two intervals: the writer forgets stacks that no event will name again, where it keeps
 * many. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_host_sweep_stacks(kymo_host *host);
/* After the process's last sample. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_host_forget_kernel_stacks(kymo_host *host);

/* ---- host_signal.c ---- */

/* Checks whether the signal of samples has changed; sets it for all events. */
KYMO_NODISCARD
kymo_err kymo_host_follow_signal(kymo_host *host, uint64_t now_ns);
/* Whether events may raise that signal, and the recorder may send it. */
int kymo_host_may_send(const kymo_host *host);

/* ---- host_status.c ---- */

/* Stores the status that the main thread begins with, unless that was done. */
void kymo_host_note_status(kymo_host *host);
/* Checks whether a thread has another filter, and whether our handler is still installed. */
KYMO_NODISCARD
kymo_err kymo_host_look_at_status(kymo_host *host, pid_t tid, uint64_t now_ns);
/* Reads the CPU time of the threads of a quiet process (host_status.c). */
void kymo_host_note_cpu(kymo_host *host);

/* ---- host_scan.c ---- */

/* Searches for threads that no hook announced, for ended ones, and for names. */
KYMO_NODISCARD
kymo_err kymo_host_scan_tasks(kymo_host *host, uint64_t now_ns);
/* Whether the process runs the image that attached; one that has ended does. */
int kymo_host_runs_on(const kymo_host *host);
/* Notices an exec: the new program has no handler of ours, and nothing to drain. quickly: checks
 * only the address space, which shows every exec unless another process shares that memory. */
void kymo_host_notice_exec(kymo_host *host, int quickly);

#endif
