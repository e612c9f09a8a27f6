/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/timer.h"

#include <signal.h>
#include <time.h>

#include "base/hash.h"
#include "sys/clock.h"
#include "sys/raw.h"

int kymo_timer_arm(struct kymo_process *p, struct kymo_thread *t)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = p->signal};
    event.sigev_value.sival_ptr = (void *)(uintptr_t)p->cookie;
    event._sigev_un._tid = (pid_t)t->tid;
    int32_t id = 0;
    if (kymo_syscall3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (long)(intptr_t)&event,
                      (long)(intptr_t)&id) != 0)
        return 0;
    /* The first expiry falls at random into the period: threads that live shorter than one are
     * sampled in proportion to their CPU time. */
    uint64_t period = p->session->period_ns;
    uint64_t first = 1 + kymo_hash_mix(kymo_clock_tsc(), t->tid) % period;
    struct itimerspec spec = {
        .it_interval = {(time_t)(period / 1000000000u), (long)(period % 1000000000u)},
        .it_value = {(time_t)(first / 1000000000u), (long)(first % 1000000000u)},
    };
    if (kymo_syscall4(SYS_timer_settime, id, 0, (long)(intptr_t)&spec, 0) != 0) {
        (void)kymo_syscall3(SYS_timer_delete, id, 0, 0);
        return 0;
    }
    t->timer = id;
    t->slot->timer_on = 1;
    return 1;
}

void kymo_timer_disarm(struct kymo_thread *t)
{
    (void)kymo_syscall3(SYS_timer_delete, t->timer, 0, 0);
    t->slot->timer_on = 0;
}
