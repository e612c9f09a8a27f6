/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - a program starts the agent that profiles it, for as long as it runs.
 *
 * Flow:     kymo_agent_start -> `kymo agent`, a process beside the program -> profiles to reporters
 * Threads:  any; calls for one agent one after the other
 * Memory:   a few hundred bytes from malloc; from start to stop the session that samples are
 *           written to, and what belongs to it, is mapped: 170 MB of addresses, little of it used
 * Signals:  not for handlers
 *
 * Link with -lkymo. The agent is a process of its own: it delivers the last profile also of a
 * program that is killed, and the program pays for capture alone. It is not the program's child:
 * no wait() of the program finds it, and it raises no SIGCHLD. Under `kymo record` or `kymo agent`
 * the program is recorded already, and kymo_agent_start says so.
 *
 * A program may start and stop any number of times; each start is an agent of its own, with options
 * of its own. After a stop, or when the death of an agent was noticed (on_end), nothing of it is
 * left in the process: no timer, handler, descriptor, thread or mapping. In a process that has
 * markers (kymo/marker.h) or a tracer the mappings stay, with some pages of each start: a thread
 * may be in a marker, which nothing waits for. Markers are recorded from start to stop. A child
 * that the program forks is recorded by its parent's agent: there kymo_agent_start says so, too,
 * until that agent has ended, and the agents of the parent can be freed by kymo_agent_detach, and
 * nothing else.
 *
 * No function of the program's is interposed. So these are not seen: threads that block all signals
 * have no samples; a program that takes the signal of the samples (SIGURG, or what signal= says) by
 * sigaction takes it from Kymo, and the profiles say that; programs that this one becomes by exec
 * are not recorded, forked children are. The handler runs on alternate stacks (sigaltstack), unless
 * the thread that calls kymo_agent_start has one that is too small for it; those of other threads,
 * and later ones, must have room for it: AT_MINSIGSTKSZ (getauxval) and 2 KiB more. Allocations
 * need `LD_PRELOAD` of the preload library, or `kymo agent -- PROGRAM`. A library should not be
 * unloaded by dlclose while another thread runs in it, and a library that was unloaded and replaced
 * at its address may have wrong names for a moment.
 */
#ifndef KYMO_AGENT_H
#define KYMO_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "kymo/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kymo_agent_client kymo_agent;

typedef enum kymo_agent_state {
    KYMO_AGENT_RUNNING = 1,
    KYMO_AGENT_STOPPING, /* asked to stop; the last profile is under way */
    KYMO_AGENT_STOPPED,
    KYMO_AGENT_FAILED, /* the agent's process has ended by itself: status says why */
} kymo_agent_state;

/* Counts since the start. */
typedef struct kymo_agent_status {
    uint32_t size;             /* sizeof(kymo_agent_status), set by the caller */
    uint32_t state;            /* kymo_agent_state */
    uint64_t intervals;        /* that have ended */
    uint64_t empty;            /* of them: nothing happened, nothing was sent */
    uint64_t broken;           /* of them: cut, or not encoded */
    uint64_t lost_records;     /* in the profiles */
    uint64_t delivered;        /* profiles, to any reporter */
    uint64_t failures;         /* tries to deliver */
    uint64_t dropped;          /* profiles */
    uint64_t last_delivery_ns; /* since 1970; 0: none */
    uint64_t agent_cpu_ns;     /* CPU time of the agent's process, without its workers */
    char reason[232];          /* of the last failure; "": none */
} kymo_agent_status;

/* A profile that a callback is given; valid until it returns. */
typedef struct kymo_agent_profile {
    uint32_t size;    /* sizeof(kymo_agent_profile) of the library */
    uint32_t is_last; /* 1: the recording has ended with it */
    /* Its bytes, to be read from offset 0 on; closed when the callback returns. It is a file
     * without a name: map it, read it, or send it on by its descriptor; dup() keeps it. */
    int fd;
    const char *format; /* "pb.gz", "jfr", "kymo" */
    uint64_t bytes;
    uint64_t start_ns, end_ns; /* of the interval, in ns since 1970 */
    uint64_t interval_ns;      /* as it was asked for */
    uint64_t number;           /* of the interval, from 1; empty ones are not sent */
    uint64_t lost_records;     /* that it misses */
    const char *metadata;      /* labels, and where the program runs: an object of texts, JSON */
    const char *program;       /* its name; with split=process that of the profile's process */
    int64_t pid;               /* the same */
} kymo_agent_profile;

typedef struct kymo_agent_options {
    uint32_t size; /* sizeof(kymo_agent_options) */
    uint32_t reserved;
    /* Settings as in KYMO_OPTIONS, which are applied first: "report=30s,reporter=local:DIR". Those
     * below are applied after them. At least one reporter is needed. NULL: none. */
    const char *settings;
    uint64_t interval_ns;         /* between profiles; 0: as settings say, or 30 s */
    uint64_t cpu_period_ns;       /* CPU time between two samples of a thread; 0: 10 ms */
    uint64_t wall_period_ns;      /* time between two looks at each thread; 0: none */
    const char *const *reporters; /* "local:DIR", ..., NULL at its end; NULL: those of settings */
    const char *kymo; /* the program; NULL: the one that was installed with this library */
    /* Called by kymo_agent_dispatch, kymo_agent_stop and kymo_agent_get_status when the agent's
     * process has ended, once. NULL: not wanted. */
    void (*on_end)(void *data, const kymo_agent_status *status);
    void *data; /* of both callbacks */
    /* A reporter beside the others: it is given each profile, one at a time, in a thread of this
     * library's that blocks all signals. KYMO_OK: delivered; KYMO_E_INVALID and
     * KYMO_E_UNSUPPORTED: dropped; all else: it is given again, after a pause that doubles from a
     * second to a minute. Each is counted as of any reporter. It may take its time: profiles wait
     * meanwhile, up to spool-bytes= (64m) of them, then the oldest is dropped. It must not stop its
     * own agent. The last profile is waited for by kymo_agent_stop alone; a program that ends
     * without has none. It must be callable until kymo_agent_stop has returned, or after a detach
     * always; if it has not returned at the deadline, its thread ends when it does. NULL: none. */
    kymo_err (*report)(void *data, const kymo_agent_profile *profile);
    const char *report_format; /* of what it is given, as of format=; NULL: "pb.gz" */
} kymo_agent_options;

/* Starts the agent, and capture in this process; waits until it runs, some 10 ms. KYMO_E_EXISTS:
 * an agent records this process, or another recorder does, or another thread starts or stops one
 * just now. An agent that has died, or ended by itself, is replaced. KYMO_E_UNSUPPORTED: this
 * process was recorded before, and has set a seccomp filter since. Others: *detail (may be NULL)
 * says what is missing: the program kymo, a permission, a reporter that cannot work. The program
 * goes on as before. */
KYMO_API kymo_err kymo_agent_start(const kymo_agent_options *options, kymo_agent **out,
                                   kymo_error *detail);

/* Ends capture and waits for the last profile, so long at most: it returns when the profile has
 * been delivered. status (may be NULL): as it was at the end. KYMO_E_TIMEOUT: it was not delivered
 * in time. Frees the agent in any case, and nothing is captured when it returns. Behind a seccomp
 * filter that was set after the start, timers and mappings stay as they are, to be harmed by
 * nothing; handlers then only return. */
KYMO_API kymo_err kymo_agent_stop(kymo_agent *agent, uint64_t deadline_ns,
                                  kymo_agent_status *status);
/* The same without waiting: kymo_agent_fd is readable when it is done, and kymo_agent_dispatch then
 * calls on_end. The agent is still to be freed, by kymo_agent_stop or kymo_agent_detach. */
KYMO_API kymo_err kymo_agent_stop_begin(kymo_agent *agent, uint64_t deadline_ns);
/* Leaves the agent alone: it profiles until the process ends. Frees the agent; NULL is allowed. In
 * a forked child: frees the copy, and no more. */
KYMO_API void kymo_agent_detach(kymo_agent *agent);

/* Ends the present interval now; its profile is sent as any other. Does not wait. */
KYMO_API kymo_err kymo_agent_flush(kymo_agent *agent);
/* Changes settings while it runs, as kymo_agent_options.settings has them: report, reporter (with
 * format and keep), label, deadline, spool-bytes, cpu, wall, counters, alloc, markers. Reporters
 * that are named replace all others but options.report; labels replace all labels. Waits for the
 * answer, a second at most; all of them are changed, or none. KYMO_E_UNSUPPORTED: one of them needs
 * a new start; KYMO_E_TIMEOUT: it is not known whether they are. detail (may be NULL) says why. */
KYMO_API kymo_err kymo_agent_reconfigure(kymo_agent *agent, const char *settings,
                                         kymo_error *detail);
/* Asks the agent, and waits for its answer for a second at most. status->size is set by the caller.
 * KYMO_E_CLOSED: its process has ended; *status has what is known. */
KYMO_API kymo_err kymo_agent_get_status(kymo_agent *agent, kymo_agent_status *status);

/* A descriptor that is readable when there is something for kymo_agent_dispatch: the agent's
 * process has ended. It stays the agent's. */
KYMO_API int kymo_agent_fd(const kymo_agent *agent);
/* Takes what has come, without waiting, and calls on_end if the agent's process has ended. */
KYMO_API kymo_agent_state kymo_agent_dispatch(kymo_agent *agent);

#ifdef __cplusplus
}
#endif

#endif
