/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - the recorder's side of one session: creates it, sends it to the program, drains it, arms
 * its threads.
 *
 * Layer:    recorder
 * Flow:     session <- [host] -> recording writer
 * Threads:  the recorder's main thread
 * Memory:   owns the shared memory, which exists until destroy even if the program dies
 * Signals:  not for handlers
 *
 *   create -> attached (the program has mapped it) -> rounds, which arm threads -> finish
 *   -> destroy
 */
#ifndef KYMO_RECORDER_HOST_H
#define KYMO_RECORDER_HOST_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "buffer/attach.h"
#include "buffer/session.h"
#include "control/categories.h"
#include "observe/dispatch.h"
#include "observe/perf_event.h"
#include "observe/unseen.h"
#include "observe/wall.h"
#include "recorder/row_tables.h"
#include "recording/events.h"
#include "sys/clock.h"

/* Threads sampled by the kernel tick although the engine is perf. */
struct kymo_tick_threads {
    uint32_t switchers; /* because they switch often */
    uint32_t refused;   /* because perf refused them */
    int error;          /* errno of the first refusal */
};

/* Settings that all sessions of a recording share. */
struct kymo_host_config {
    const char *tree; /* name of the tree, part of the names of its sessions' memory; NULL: none */
    uint64_t buffer_bytes;
    uint64_t period_ns;
    uint32_t depth;
    int signal;       /* the signal of samples, at first */
    int signal_fixed; /* the user chose it: it never changes */
    enum kymo_session_engine engine;
    enum kymo_perf_access access; /* of the perf engine */
    int spares_switchers;         /* threads that switch often get no perf event */
    kymo_dispatch *dispatch;      /* also for threads that perf refuses; NULL: none */
    enum kymo_clock_kind clock;
    uint64_t counters_period_ns;              /* of telemetry; 0: none */
    uint64_t earliest_ns;                     /* the recording's begin; 0: the session's */
    uint64_t network_cookie;                  /* our network namespace; 0: not known */
    uint64_t network_device, network_inode;   /* the same; inode 0: not known */
    struct kymo_kernel_stacks *kernel_stacks; /* NULL: none; owned by the launcher */
    struct kymo_copy_budget *copies;          /* NULL: there are no copies of stacks; as above */
    const kymo_event_handler *events;         /* receives what is drained */
    void *events_context;
    struct kymo_recording_writer *writer; /* writer of `events`; NULL: not a file */
    int spool;                            /* descriptor of its file */
    uint32_t flags;                       /* enum kymo_session_flags */
    uint32_t pauses;                      /* as kymo_session has it: odd in a pause */
    uint64_t alloc_rate;     /* sampling rate: mean bytes between two recorded allocations; 0:
                              * off */
    const char *markers;     /* selected categories, syntax of capture/mark_select.c */
    kymo_row_tables *tables; /* NULL: none */
    int poller;              /* serves what processes without our library tell of */
    /* Such a process has started this child; 0: some, or has called exec: it is its own child. */
    kymo_err (*on_relative)(void *context, pid_t parent, pid_t child);
    void *on_relative_context;
    kymo_unseen *unseen;    /* NULL: allocations are not recorded */
    kymo_wall_shared *wall; /* NULL: no wall time */
    uint32_t *next_thread;  /* number of the recording's next thread, shared */
    struct kymo_tick_threads *tick_threads;
};

typedef struct kymo_host kymo_host;

/* The name of the memory of this tree's sessions, as /proc/PID/maps shows it. It is cut if `out`
 * is too small. */
void kymo_host_memory_name(const char *tree, char *out, size_t cap);

KYMO_NODISCARD
kymo_err kymo_host_create(const struct kymo_host_config *config, kymo_host **out,
                          kymo_error *detail);
void kymo_host_destroy(kymo_host *host);

/* The descriptor of the shared memory, to be sent to the program, and its size. The recorder
 * closes the descriptor after the program has it. */
int kymo_host_memory(const kymo_host *host);
uint64_t kymo_host_bytes(const kymo_host *host);
void kymo_host_close_memory(kymo_host *host);

/* The process is in another pid namespace: its thread numbers are not valid for the recorder.
 * Its threads arm themselves, by timers. Call before the program maps the session. */
void kymo_host_set_foreign(kymo_host *host);
/* The process has run for a while, and announces no threads (KYMO_ATTACH_LATE). At the same time.
 */
void kymo_host_set_late(kymo_host *host);

/* Our library is not in the process, and will not be: it says nothing itself, and its threads are
 * found in /proc. They are sampled by the kernel alone (observe/stack_copies.h): no wall time,
 * allocations or markers. Call before kymo_host_attached. is_found_late: what it has used before is
 * not its start, and nobody knows what it was. */
void kymo_host_set_outside(kymo_host *host, int is_found_late);
int kymo_host_is_outside(const kymo_host *host);

/* The process that has said this is to attach, and has this id in the recording. Takes what tells
 * its image from others from there, or reads it in /proc. It must wait for us meanwhile: it may
 * become another image, or end, at once. */
void kymo_host_identify(kymo_host *host, pid_t pid, uint32_t process,
                        const struct kymo_attach_hello *hello);
/* The process lives: what it has said itself is read in /proc, too, if it still is that image. */
void kymo_host_identify_again(kymo_host *host);
/* Makes the perf event of its main thread, which the process itself is to start: a signal before it
 * has a handler would kill it. Returns the host's descriptor; -1: it is armed once it has
 * attached. */
int kymo_host_open_event(kymo_host *host);
/* The path of its executable then; "" if it is not known. */
const char *kymo_host_executable(const kymo_host *host);
/* That image has attached, and its process event has been written. main_cpu_before: CPU time of its
 * main thread when its samples began; startup_ns: what of that is of this image, and is shown as
 * its start. */
void kymo_host_attached(kymo_host *host, uint64_t main_cpu_before, uint64_t startup_ns);
/* The minor version of a CPython 3 in it whose frames cannot be read, and whether it is a build
 * without the GIL; 0: there is none. */
uint32_t kymo_host_unread_python(const kymo_host *host, int *is_free_threaded);
/* Of what traced calls in it: bits of enum kymo_tracer, if the process says nothing else. */
uint32_t kymo_host_tracer(const kymo_host *host);
/* Whether its main thread has taken a slot. Then that is filled. */
int kymo_host_is_attached(const kymo_host *host);

/* One round: drains the session, arms new threads, disarms ended ones; every tenth of a second
 * also searches /proc for threads that no hook announced. */
KYMO_NODISCARD
kymo_err kymo_host_round(kymo_host *host);
/* The first round: arms its threads, unless that image has ended meanwhile. */
KYMO_NODISCARD
kymo_err kymo_host_first_round(kymo_host *host);
/* After kymo_host_finish: when the last of its threads ended. */
uint64_t kymo_host_last_end_ns(const kymo_host *host);
/* Samples every thread, for wall time. */
KYMO_NODISCARD
kymo_err kymo_host_tick(kymo_host *host, uint64_t now_ns);
/* Starts recording what the system reports of the process. is_program: the process that the
 * recorder started. is_forked: some memory was inherited. Call after kymo_host_attached. */
void kymo_host_watch_system(kymo_host *host, int is_program, int is_forked);
/* Reads what is due; also called without a round. */
KYMO_NODISCARD
kymo_err kymo_host_look_at_system(kymo_host *host, uint64_t now_ns);
/* Updates the heartbeat, which tells an idle process that the recorder lives. */
void kymo_host_beat(kymo_host *host);
/* Whether threads have begun, or many buffer blocks were filled, since the last round. They are
 * armed and read immediately. */
int kymo_host_has_rung(const kymo_host *host);
/* Arms new threads. */
KYMO_NODISCARD
kymo_err kymo_host_hear(kymo_host *host);
/* As kymo_host_arm, and also drains up to about 8 MiB if that is due. */
KYMO_NODISCARD
kymo_err kymo_host_answer(kymo_host *host);
/* Drains a part of what an ended process has left. */
KYMO_NODISCARD
kymo_err kymo_host_read(kymo_host *host);
/* The time of the next drain: filled blocks wait because the last drain was too recent or
 * incomplete. UINT64_MAX: none is due. */
uint64_t kymo_host_due_ns(const kymo_host *host);
/* Whether the last drain was incomplete. */
int kymo_host_is_behind(const kymo_host *host);

/* The path of the unrecorded program that the process has changed to by exec, or "". */
const char *kymo_host_replaced_by(const kymo_host *host);
/* CPU clocks at an exec. */
struct kymo_exec_clocks {
    uint64_t old_ns; /* of the main thread that the image had */
    uint64_t new_ns; /* of the thread that is the next image's main one: that which called exec */
};

/* As written by the hook before an exec; cpu_ns: what the next image's main thread has used by now.
 * If that is missing or impossible: the sum of the main thread's samples, which called exec. */
struct kymo_exec_clocks kymo_host_exec_clocks(const kymo_host *host, uint64_t cpu_ns);
/* The next unrecorded program that the process started; as kymo_refusal_read. */
int kymo_host_refusal(kymo_host *host, struct kymo_refusal *out, uint64_t *missed);

/* State of a new list of categories. */
enum kymo_host_selected {
    KYMO_HOST_TOLD,  /* the process has applied it */
    KYMO_HOST_LATER, /* not yet: it applies it when it runs, or takes its next block */
    KYMO_HOST_NEVER, /* never: it runs another program, which is not recorded, or has no markers */
};

/* Selects which categories of markers are recorded from now on. */
void kymo_host_select(kymo_host *host, const char *markers);
/* Call repeatedly after a selection; sends the signal again if needed. */
enum kymo_host_selected kymo_host_selected(kymo_host *host);

/* Sets the sampling rate: mean bytes between two recorded allocations; 0: off. */
void kymo_host_set_alloc_rate(kymo_host *host, uint64_t rate);

/* How often the system is asked about the process. */
void kymo_host_set_counters_period(kymo_host *host, uint64_t period_ns);

/* A pause begins (pauses is odd), or ends: its samples, those of wall time included. What was
 * recorded before is read first. Selected markers and the sampling rate are the caller's. */
KYMO_NODISCARD
kymo_err kymo_host_set_pauses(kymo_host *host, uint32_t pauses, uint64_t now_ns);

/* From now on threads are sampled that often. The dispatcher's and the wall clock's periods are the
 * caller's. */
void kymo_host_set_period(kymo_host *host, uint64_t period_ns);
/* The dispatcher has no thread of it, until they return. */
void kymo_host_leave_dispatcher(kymo_host *host);
void kymo_host_return_to_dispatcher(kymo_host *host);

/* Whether all records from before that time have been read. */
int kymo_host_has_read(const kymo_host *host, uint64_t since_ns);

/* Whether the process ever forked, or started a program that may attach. */
int kymo_host_has_relatives(const kymo_host *host);

/* Ends samples and markers; signals the process so that it notices. */
void kymo_host_stop(kymo_host *host);

/* Adds the marker categories that the process has declared so far. */
KYMO_NODISCARD
kymo_err kymo_host_add_categories(const kymo_host *host, struct kymo_categories *categories);

/* Reads the traced calls that the process has made by now, unless a round is behind. */
KYMO_NODISCARD
kymo_err kymo_host_read_calls(kymo_host *host);
/* After a round: writes what is known by now, since an interval of the recording ends. */
KYMO_NODISCARD
kymo_err kymo_host_end_interval(kymo_host *host);
/* The last round: ends all threads, and writes losses and quality. main_cpu_ns: CPU clock of the
 * main thread if known from elsewhere, else 0. is_followed: the process has a next image, which
 * is recorded. */
KYMO_NODISCARD
kymo_err kymo_host_finish(kymo_host *host, uint64_t end_ns, uint64_t main_cpu_ns, int is_followed);
/* The quality that it wrote; after finish. */
kymo_event_quality kymo_host_quality(const kymo_host *host);
/* The number of its threads that were read. */
size_t kymo_host_thread_count(const kymo_host *host);
/* CPU time of all threads in this image; after finish. */
uint64_t kymo_host_cpu_ns(const kymo_host *host);

#endif
