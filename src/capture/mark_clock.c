/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_clock.c - the clock of markers, for the program: see mark.h.
 *
 * There are two clocks, and their exact ratio is not known. So a moment is computed back from now,
 * by the ratio of both clocks since the start. What happened a second ago is right to a few tens of
 * nanoseconds then, whatever the ratio was before.
 *
 * A forked child has its parent's clock, also until it attaches: what the parent has read must mean
 * the same there.
 */
#include "arch/own_math.h"
#include "base/atomic.h"
#include "capture/mark.h"
#include "sys/clock.h"

static uint64_t now_ns(void)
{
    return kymo_clock_ns(CLOCK_MONOTONIC);
}

uint64_t kymo_mark_now(void)
{
    struct kymo_capture_process *p = kymo_process_here();
    if (kymo_likely(p != NULL))
        return kymo_process_clock(p);
    uint32_t kind = kymo_load_relaxed(&kymo_process_last_clock);
    return kind ? kymo_clock_now((enum kymo_clock_kind)(kind - 1)) : now_ns();
}

struct both {
    uint64_t clock, ns;       /* now */
    uint64_t clock_on, ns_on; /* since the start */
};

/* 0: no clock may be read. Where the program has forbidden itself the time-stamp counter, the vDSO
 * would read it all the same; a system call does not. */
static uint64_t now_ns_of(const struct kymo_capture_process *p)
{
    uint32_t quiet = kymo_load_relaxed(&p->session->quiet);
    struct timespec t;
    if (!(quiet & KYMO_QUIET_COUNTER))
        return now_ns();
    if (quiet & KYMO_QUIET_CALLS ||
        kymo_syscall3(SYS_clock_gettime, CLOCK_MONOTONIC, (long)(intptr_t)&t, 0) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* 0 if the session's clock is CLOCK_MONOTONIC. */
static int look_at_both(const struct kymo_capture_process *p, struct both *b)
{
    if (!p || p->clock == KYMO_CLOCK_MONOTONIC)
        return 0;
    b->clock = kymo_process_clock(p);
    b->ns = now_ns_of(p);
    /* 0 where neither says anything of the other: also before the recorder's next round, whose time
     * is all that there is where the counter is forbidden. */
    int is_known = b->ns > p->anchor_ns && b->clock > p->anchor_clock;
    b->clock_on = is_known ? b->clock - p->anchor_clock : 0;
    b->ns_on = is_known ? b->ns - p->anchor_ns : 0;
    return 1;
}

uint64_t kymo_mark_to_ns(uint64_t clock)
{
    struct both b;
    if (!look_at_both(kymo_process_here(), &b))
        return clock;
    return clock <= b.clock ? b.ns - kymo_multiply_divide(b.clock - clock, b.ns_on, b.clock_on)
                            : b.ns + kymo_multiply_divide(clock - b.clock, b.ns_on, b.clock_on);
}

uint64_t kymo_mark_from_ns(uint64_t monotonic_ns)
{
    struct both b;
    if (!look_at_both(kymo_process_here(), &b))
        return monotonic_ns;
    return monotonic_ns <= b.ns
               ? b.clock - kymo_multiply_divide(b.ns - monotonic_ns, b.clock_on, b.ns_on)
               : b.clock + kymo_multiply_divide(monotonic_ns - b.ns, b.clock_on, b.ns_on);
}

uint64_t kymo_mark_ticks(const struct kymo_capture_process *p, uint64_t ns)
{
    struct both b;
    if (ns == 0 || !look_at_both(p, &b))
        return ns;
    return kymo_multiply_divide(ns, b.clock_on, b.ns_on);
}
