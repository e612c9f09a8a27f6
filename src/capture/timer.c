/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/timer.h"

#include <signal.h>
#include <time.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "sys/clock.h"
#include "sys/raw.h"

#define REAL_TIME 32

/* A caller that finds the lock taken leaves the timer to its holder. */
static int lock(struct kymo_capture_thread *t)
{
    uint32_t free = 0;
    return kymo_cas_acq_rel(&t->timer_lock, &free, 1u);
}

static void unlock(struct kymo_capture_thread *t)
{
    kymo_store_release(&t->timer_lock, 0u);
}

static int arm(struct kymo_capture_process *p, struct kymo_capture_thread *t)
{
    int signo = kymo_load_relaxed(&p->signal);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signo};
    event.sigev_value.sival_ptr = (void *)(uintptr_t)p->cookie;
    event._sigev_un._tid = (pid_t)t->tid;
    int32_t id = 0;
    if (!signo || kymo_syscall3(SYS_timer_create, kymo_clock_of_thread(t->tid),
                                (long)(intptr_t)&event, (long)(intptr_t)&id) != 0)
        return 0;
    /* The first expiry falls at random into the period: threads that live shorter than one are
     * sampled in proportion to their CPU time. */
    uint64_t period = kymo_load_relaxed(&p->session->period_ns);
    period += period == 0; /* the program may have overwritten it */
    uint64_t first = 1 + kymo_hash_mix(kymo_process_clock(p), t->tid) % period;
    struct itimerspec spec = {
        .it_interval = {(time_t)(period / 1000000000u), (long)(period % 1000000000u)},
        .it_value = {(time_t)(first / 1000000000u), (long)(first % 1000000000u)},
    };
    if (kymo_syscall4(SYS_timer_settime, id, 0, (long)(intptr_t)&spec, 0) != 0) {
        (void)kymo_syscall3(SYS_timer_delete, id, 0, 0);
        return 0;
    }
    t->timer = id;
    t->timer_signal = signo;
    t->timer_period_ns = period;
    t->slot->timer_on = 1;
    return 1;
}

static void disarm(struct kymo_capture_thread *t)
{
    (void)kymo_syscall3(SYS_timer_delete, t->timer, 0, 0);
    t->slot->timer_on = 0;
}

int kymo_timer_arm(struct kymo_capture_process *p, struct kymo_capture_thread *t)
{
    if (kymo_is_quiet(p) || !lock(t))
        return 0;
    int armed = t->slot->timer_on || arm(p, t);
    unlock(t);
    return armed;
}

void kymo_timer_disarm(struct kymo_capture_thread *t)
{
    if (kymo_is_quiet(t->process) || !lock(t))
        return;
    if (t->slot->timer_on)
        disarm(t);
    unlock(t);
}

void kymo_timer_follow(struct kymo_capture_process *p, struct kymo_capture_thread *t)
{
    if (kymo_is_quiet(p) || !lock(t))
        return;
    if (t->slot->timer_on && kymo_timer_is_old(p, t)) {
        disarm(t);
        (void)arm(p, t);
    }
    unlock(t);
}

void kymo_timers_follow(struct kymo_capture_process *p)
{
    /* An event may not raise a real-time signal: then a timer takes its place. */
    int need_timer = kymo_load_relaxed(&p->signal) >= REAL_TIME;
    uint32_t touched = kymo_threads_touched(p);
    for (uint32_t i = 0; i < touched; i++) {
        struct kymo_capture_thread *t = &p->threads[i];
        if (!t->process || kymo_load_acquire(&t->slot->state) != KYMO_SLOT_LIVE)
            continue;
        if (t->slot->timer_on)
            kymo_timer_follow(p, t);
        else if (need_timer)
            (void)kymo_timer_arm(p, t);
    }
}

void kymo_timers_stop(struct kymo_capture_process *p)
{
    uint32_t touched = kymo_threads_touched(p);
    for (uint32_t i = 0; i < touched; i++) {
        struct kymo_capture_thread *t = &p->threads[i];
        if (!t->process || !lock(t))
            continue;
        if (t->slot->timer_on)
            disarm(t);
        unlock(t);
    }
}
