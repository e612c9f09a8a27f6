/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_choose.c - which engine, and how much memory for a session.
 */
#include "launch/launch_start.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "memory/cgroup.h"
#include "observe/kallsyms.h"
#include "observe/watch.h"

#define BUFFER_DEFAULT (32ull << 20)
#define BUFFER_LEAST (4ull << 20)
/* With a record for every few allocations. */
#define BUFFER_OFTEN (256ull << 20)
#define OFTEN_BYTES (4u << 10)

kymo_err kymo_launch_choose_engine(uint64_t asked, struct kymo_host_config *config,
                                   char reason[KYMO_REASON_MAX], kymo_error *detail)
{
    int why;
    enum kymo_perf_access access = kymo_perf_probe(&why);
    if (asked == KYMO_ENGINE_PERF && access == KYMO_PERF_NONE) {
        errno = why;
        return kymo_error_set_errno(detail, "engine=perf does not work here (kymo doctor says "
                                            "why): perf_event_open");
    }
    /* A real-time signal that cannot be queued (RLIMIT_SIGPENDING) the kernel makes a SIGIO of,
     * when it comes of a descriptor: that ends the program. A timer has its place in the queue. */
    int real_time = config->signal >= SIGRTMIN;
    if (asked == KYMO_ENGINE_PERF && real_time)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "engine=perf takes no real-time signal: when the program's queue of "
                              "signals is full, it would end the program; say engine=timer");
    /* One that comes from outside in the middle of an exec ends the new image, which has no handler
     * yet. */
    if (asked == KYMO_ENGINE_DISPATCH && real_time)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "engine=dispatch takes no real-time signal: it would end a program "
                              "that calls exec; say engine=timer");
    config->access = access;
    const char *no_dispatch = "a real-time signal is for timers alone";
    int can_dispatch = !real_time && kymo_dispatch_probe(&no_dispatch);
    if (asked == KYMO_ENGINE_DISPATCH && !can_dispatch && !kymo_watch_probe())
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "engine=dispatch does not work here: this kernel does not tell who "
                              "runs");
    const char *no_perf =
        real_time ? "perf is not safe with a real-time signal" : "perf_event_open is not permitted";
    int may_perf = access != KYMO_PERF_NONE && !real_time;
    if (asked == KYMO_ENGINE_TIMER) {
        config->engine = KYMO_SESSION_TIMER;
        snprintf(reason, KYMO_REASON_MAX, "asked for");
    } else if (asked == KYMO_ENGINE_DISPATCH) {
        config->engine = KYMO_SESSION_DISPATCH;
        snprintf(reason, KYMO_REASON_MAX, "asked for");
    } else if (!may_perf && can_dispatch) {
        config->engine = KYMO_SESSION_DISPATCH;
        snprintf(reason, KYMO_REASON_MAX, "%s", no_perf);
    } else if (!may_perf) {
        config->engine = KYMO_SESSION_TIMER;
        snprintf(reason, KYMO_REASON_MAX, "%s, and %s", no_perf, no_dispatch);
    } else {
        config->engine = KYMO_SESSION_PERF;
        config->spares_switchers = asked == KYMO_ENGINE_AUTO;
        snprintf(reason, KYMO_REASON_MAX, "%s",
                 access != KYMO_PERF_KERNEL    ? "permitted without the kernel"
                 : kymo_kallsyms_is_readable() ? "permitted, with kernel stacks"
                                               : "permitted, with kernel stacks, without names");
    }
    return KYMO_OK;
}

int kymo_launch_can_watch(const kymo_options *options)
{
    return (options->engine == KYMO_ENGINE_AUTO || options->engine == KYMO_ENGINE_PERF) &&
           options->cpu_period_ns && kymo_launch_can_watch_process(0);
}

int kymo_launch_can_watch_process(pid_t pid)
{
    return kymo_perf_may_copy(pid, 0);
}

/* 5 % of the memory that the cgroup may use, if that is less than the default. */
uint64_t kymo_launch_choose_buffer(uint64_t asked, uint64_t alloc_rate, int traces)
{
    if (asked)
        return asked;
    uint64_t limit = kymo_cgroup_limit("", "self");
    uint64_t share = limit / 20;
    /* A record for every few allocations, or for each call, fills faster than a busy recorder comes
     * round. */
    int is_often = traces || (alloc_rate && alloc_rate < OFTEN_BYTES);
    uint64_t most = is_often ? BUFFER_OFTEN : BUFFER_DEFAULT;
    return share >= most ? most : share < BUFFER_LEAST ? BUFFER_LEAST : share;
}
