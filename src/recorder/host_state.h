/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_state.h - what is kept of one session; for the files that host.h is made of.
 *
 * Layer:    recorder
 * Flow:     host.c (life, rounds), host_arm.c (threads and their events), host_signal.c (which
 *           signal), host_scan.c (/proc)
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

/* Silence after which the program stops capturing: far longer than any pause of a recorder that
 * lives, short against what a dead one would cost. */
#define KYMO_HOST_SILENCE_NS 5000000000ull

/* What the recorder keeps of a slot's thread. */
struct kymo_host_slot {
    uint32_t generation;
    int open; /* between thread_begin and thread_end */
    pid_t tid;
    int fd;              /* -1: no perf event */
    uint32_t dispatched; /* its number with the dispatcher + 1; 0: it has none */
    int with_kernel;
    int switches_much;     /* and so has no event, but the timer beside it alone */
    int is_refused;        /* by perf */
    int is_by_tick;        /* has had samples by a tick; what ingest makes of it is settled */
    uint64_t seen_samples; /* at the last look, which may have been no check */
    uint32_t checks;
    uint64_t checked_samples;
    uint64_t checked_cpu_ns;
    uint64_t checked_ns;
    uint64_t switches;  /* voluntary ones at the last check */
    uint64_t seen_scan; /* the last scan of /proc that found the tid */
    uint64_t named_samples;
    uint64_t status_samples; /* at the last look at its status */
    int named;               /* name and named_samples are those of the last look */
    char name[16];
};

/* A thread that is in /proc and not in the session. */
struct kymo_host_stranger {
    pid_t tid;
    uint32_t calls; /* that it did not answer */
    int told;       /* also to the wall clock's watch of threads without a slot */
    uint64_t scan;
};

struct kymo_host {
    struct kymo_host_config config;
    pid_t pid;
    struct kymo_task_exe exe; /* what it ran when it attached */
    int image;                /* the memory it ran in then; -1: not known */
    int replaced;             /* it has called exec since */
    char replaced_by[PATH_MAX];
    int foreign; /* its pid namespace is not ours */
    int memory;
    struct kymo_session *session;
    struct kymo_session_plan plan;
    uint32_t tables_given;
    uint32_t refusals_seen;
    uint64_t counted_samples; /* that the row tables were told of */
    kymo_drain *drain;
    struct kymo_host_slot *slots;
    uint32_t slots_seen; /* of them were in use up to now; memory behind is not touched */
    uint64_t next_scan_ns;
    uint64_t last_round_ns;
    int revive; /* the last round came very late */
    uint64_t scan;
    uint32_t listed;  /* threads, by the last scan */
    int signal;       /* that samples arrive by; 0: there is none */
    int signal_lost;  /* our handler is gone: nothing is sent */
    uint32_t filters; /* seccomp's, when it attached */
    int said_wanted;  /* that the program wants the one the user gave */
    int said_signals; /* how often it was said which one it is now */
    uint32_t woken;   /* the session's count of threads, as far as they were armed */
    uint32_t filled;  /* and of filled blocks, as far as they were read */
    uint64_t drained_ns;
    uint64_t lap_ns;                     /* when the drain began to read all streams */
    uint64_t read_ns;                    /* and when it last began, and has read them all since */
    uint32_t control_seq;                /* of the list that was written last */
    int control_called;                  /* and the process was called for it */
    uint64_t told_lost[KYMO_LOSS_KINDS]; /* as the recording has it */
    uint64_t told_lost_ns;
    KYMO_VEC(struct kymo_host_stranger) strangers;
    struct kymo_session_events out;
    kymo_telemetry *telemetry; /* NULL: none */
    kymo_ledger_book *ledger;  /* NULL: none */
    struct kymo_allocator_events allocator;
    kymo_event_quality quality; /* as it was said at the end */
};

/* ---- host_arm.c ---- */

/* Arms the threads that began, disarms those that ended. */
KYMO_NODISCARD
kymo_err kymo_host_arm_threads(kymo_host *host, uint64_t now_ns);
/* Takes away what raises the slot's samples from outside. */
void kymo_host_disarm(kymo_host *host, uint32_t slot);
/* Whose slot this is; UINT32_MAX: it has none. */
uint32_t kymo_host_slot_of(const kymo_host *host, pid_t tid);
/* Sends a signal that carries our cookie to one thread: "look into your slot". */
void kymo_host_call_thread(const kymo_host *host, pid_t tid);
/* The same to the main thread or, if that has ended or blocks the signal, to any other. Returns
 * whether it could be sent. */
int kymo_host_call_process(const kymo_host *host);
/* After a pause of ours (Ctrl-Z) that was long enough for threads to think that we are gone: those
 * that disarmed their timers get them back. One round later, so that all have seen us beat. */
void kymo_host_revive_timers(kymo_host *host);

/* ---- host_signal.c ---- */

/* Sees whether samples arrive by another signal by now, and sets it for all events. */
KYMO_NODISCARD
kymo_err kymo_host_follow_signal(kymo_host *host, uint64_t now_ns);
/* Whether events may raise that signal, and we may send it. */
int kymo_host_may_send(const kymo_host *host);

/* ---- host_status.c ---- */

/* Which seccomp filters the process begins with. */
void kymo_host_note_filters(kymo_host *host);
/* Sees whether a thread has another filter by now, and whether our handler is still there. */
KYMO_NODISCARD
kymo_err kymo_host_look_at_status(kymo_host *host, pid_t tid, uint64_t now_ns);
/* What the threads of a quiet process have used so far. */
void kymo_host_note_cpu(kymo_host *host);

/* ---- host_scan.c ---- */

/* Looks for threads that no hook announced, for those that are gone, and for their names. */
KYMO_NODISCARD
kymo_err kymo_host_scan_tasks(kymo_host *host, uint64_t now_ns);
/* Another program in the same process has no handler of ours, and nothing to be drained. Quickly:
 * by the memory alone, which tells all but an exec beside a process that shares it. */
void kymo_host_notice_exec(kymo_host *host, int quickly);

#endif
