/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_arm.c - the perf events and timers of a session's threads.
 *
 * Arming. A thread that begins takes a slot and wakes the recorder, which opens a perf event for it
 * (microseconds later; what the thread used until then is in the weight of its first sample).
 *
 * With or without the kernel. An event that counts in the kernel, too, samples system calls and
 * page faults where they happen; but when it fires while its thread is about to sleep in a system
 * call, that call returns EINTR. An event without the kernel never does: the interrupt finds the
 * thread in user mode, and the signal is delivered before the next instruction. So a thread is
 * sampled with the kernel only while it does not sleep of its own will: that is looked up in
 * /proc (voluntary switches) once it has used CHECK_SAMPLES periods of CPU time, and again and
 * again. Its weights are right either way, since they come from the CPU clock. So that time in the
 * kernel has samples of its own also where the event has none, the thread then has a timer beside
 * it (capture/timer.h), which disturbs no call and comes with the kernel's tick.
 *
 * Threads that switch. With each switch to a thread that has an event, and from it, the kernel sets
 * a clock anew, which costs 2 to 10 us (more where the machine is virtual): two threads that send
 * each other bytes through pipes used three times the CPU time with events, and PostgreSQL nearly
 * twice. So a thread that goes to sleep of its own will each half a millisecond of its CPU time or
 * more often is left to the timer, which costs nothing at a switch; one that does not any more has
 * its event again. Unless the user insists on perf.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "observe/descriptors.h"
#include "observe/kernel_stacks.h"
#include "recorder/host_state.h"
#include "sys/clock.h"

#define CHECK_SAMPLES 16u
#define FIRST_CHECK_SAMPLES 2u /* what costs most is to be seen soon */
#define CHECK_NS 20000000u
#define SHORT_RUN_NS 500000u
#define DISPATCH_AGAIN_NS 100000000u

static siginfo_t call_of(const kymo_host *h)
{
    siginfo_t info = {.si_signo = h->signal, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)h->session->cookie;
    return info;
}

void kymo_host_call_thread(const kymo_host *h, pid_t tid)
{
    siginfo_t info = call_of(h);
    if (kymo_host_may_send(h))
        (void)syscall(SYS_rt_tgsigqueueinfo, h->pid, tid, h->signal, &info);
}

int kymo_host_call_process(const kymo_host *h)
{
    siginfo_t info = call_of(h);
    return kymo_host_may_send(h) && syscall(SYS_rt_sigqueueinfo, h->pid, h->signal, &info) == 0;
}

static void close_event(kymo_host *h, struct kymo_host_slot *a)
{
    if (a->fd < 0)
        return;
    if (a->with_kernel)
        kymo_kernel_stacks_close(h->config.kernel_stacks, h->out.process, a->tid);
    close(a->fd);
    a->fd = -1;
}

void kymo_host_disarm(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    if (a->open)
        close_event(h, a);
    if (a->open && a->dispatched)
        kymo_dispatch_remove(h->config.dispatch, a->dispatched - 1);
    a->dispatched = 0;
}

/* From now on a tick tells when the thread is sampled, so its weights are evened out.
 * Counts it if that is new. Returns whether it could be said: of a thread that is not drained yet
 * it cannot. */
static int set_by_tick(kymo_host *h, uint32_t number, uint32_t *count)
{
    uint32_t thread = kymo_drain_slot_thread(h->drain, number);
    if (thread >= h->out.by_tick.len)
        return 0;
    *count += !h->out.by_tick.data[thread];
    h->out.by_tick.data[thread] = 1;
    return 1;
}

/* Hands the thread over to the dispatcher. Returns whether it was taken. */
static int dispatch(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_dispatch_thread thread = {
        .pid = h->pid,
        .tid = a->tid,
        .signal = h->signal,
        .cookie = h->session->cookie,
        .slot = kymo_session_slot(h->session, &h->plan, number),
    };
    uint32_t id;
    if (!h->config.dispatch || !kymo_host_may_send(h) ||
        kymo_dispatch_add(h->config.dispatch, &thread, &id) != KYMO_OK)
        return 0;
    a->dispatched = id + 1;
    return 1;
}

/* With the kernel's part of stacks where the system allows that, and else without. */
static int open_event(kymo_host *h, pid_t tid, int with_kernel, int *tells_chains)
{
    const struct kymo_host_config *c = &h->config;
    *tells_chains = 0;
    if (with_kernel && kymo_kernel_stacks_have_room(c->kernel_stacks)) {
        int fd = kymo_perf_open_chains(tid, c->period_ns, h->signal);
        if (fd >= 0) {
            *tells_chains = 1;
            return fd;
        }
    }
    return kymo_perf_open(tid, c->period_ns, h->signal, with_kernel);
}

/* Opens the event of this slot's thread; replaces the one it has. */
static void arm(kymo_host *h, uint32_t number, int with_kernel)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    if (!kymo_host_may_send(h))
        return;
    int tells_chains;
    int fd = kymo_descriptors_keep(open_event(h, a->tid, with_kernel, &tells_chains),
                                   KYMO_DESCRIPTORS_EVENTS);
    if (fd < 0) {
        /* Descriptors are used up, or the program dropped to a user that is not ours: what there
         * is stays; a thread without anything goes to the dispatcher, or takes a timer. */
        if (a->fd >= 0 || errno == ESRCH)
            return;
        a->is_refused = 1;
        if (h->config.tick_threads->error == 0)
            h->config.tick_threads->error = errno;
        if (!dispatch(h, number)) {
            kymo_store_relaxed(&slot->ask_timer, 1u);
            kymo_host_call_thread(h, a->tid);
        }
        return;
    }
    kymo_store_relaxed(&slot->perf_fd_before, a->fd);
    close_event(h, a);
    a->fd = fd;
    a->with_kernel = with_kernel;
    kymo_store_relaxed(&slot->perf_kernel, (uint32_t)with_kernel);
    /* Before the first signal: the handler knows its own by this number. */
    kymo_store_release(&slot->perf_fd, fd);
    if (tells_chains)
        kymo_kernel_stacks_open(h->config.kernel_stacks, h->out.process, a->tid, fd,
                                kymo_clock_ns(CLOCK_MONOTONIC));
    (void)kymo_perf_enable(fd);
}

/* Leaves the thread to the timer that it has beside an event without the kernel. */
static void leave_to_timer(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    if (!set_by_tick(h, number, &h->config.tick_threads->switchers))
        return; /* at the next check */
    a->switches_much = 1;
    kymo_store_relaxed(&slot->perf_fd_before, a->fd);
    kymo_store_release(&slot->perf_fd, -1);
    close_event(h, a);
}

/* Whether the thread has used CHECK_SAMPLES periods since the last check, and if so, how much CPU
 * time. In the kernel its samples are those of the timer beside, which are fewer. */
static int has_used(const kymo_host *h, struct kymo_host_slot *a, uint64_t samples,
                    uint64_t *used_ns)
{
    uint64_t cpu_ns;
    int known = kymo_task_cpu_ns(h->pid, a->tid, &cpu_ns);
    uint32_t enough = a->checks ? CHECK_SAMPLES : FIRST_CHECK_SAMPLES;
    *used_ns = known ? cpu_ns - a->checked_cpu_ns : UINT64_MAX;
    if (samples < a->checked_samples + enough &&
        (!known || *used_ns < enough * h->config.period_ns))
        return 0;
    a->checks++;
    if (known)
        a->checked_cpu_ns = cpu_ns;
    return 1;
}

/* With the kernel for those that do not sleep, without for those that do, and no event at all for
 * those that hardly run. */
static void choose_event(kymo_host *h, uint32_t number, uint64_t now_ns)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    uint64_t samples = kymo_load_relaxed(&slot->samples);
    uint64_t switches, used_ns;
    if (h->config.engine != KYMO_SESSION_PERF || (a->fd < 0 && !a->switches_much) ||
        samples == a->seen_samples || (a->checks && now_ns < a->checked_ns + CHECK_NS))
        return;
    a->seen_samples = samples;
    if (!has_used(h, a, samples, &used_ns))
        return;
    a->checked_samples = samples;
    a->checked_ns = now_ns;
    if (!kymo_task_voluntary_switches(h->pid, a->tid, &switches))
        return;
    uint64_t sleeps = switches - a->switches;
    a->switches = switches;
    if (a->switches_much) {
        if (used_ns / 2 < sleeps * SHORT_RUN_NS)
            return;
        a->switches_much = 0;
        arm(h, number, 0);
    } else if (h->config.spares_switchers && !a->with_kernel && used_ns < sleeps * SHORT_RUN_NS) {
        leave_to_timer(h, number);
    } else if (h->config.access == KYMO_PERF_KERNEL && (sleeps != 0) == a->with_kernel) {
        arm(h, number, sleeps == 0);
    }
}

uint32_t kymo_host_slot_of(const kymo_host *h, pid_t tid)
{
    for (uint32_t i = 0; i < h->slots_seen; i++)
        if (h->slots[i].open && h->slots[i].tid == tid)
            return i;
    return UINT32_MAX;
}

/* The kernel gives a new thread only a free tid: the thread that had it before has ended, though no
 * hook saw that. */
static kymo_err end_former(kymo_host *h, pid_t tid, uint64_t now_ns)
{
    uint32_t number = kymo_host_slot_of(h, tid);
    if (number == UINT32_MAX)
        return KYMO_OK;
    kymo_host_disarm(h, number);
    h->slots[number].open = 0;
    /* One that did say its end is the drain's. */
    if (kymo_load_acquire(&kymo_session_slot(h->session, &h->plan, number)->state) !=
        KYMO_SLOT_LIVE)
        return KYMO_OK;
    return kymo_drain_end_slot(h->drain, number, now_ns);
}

kymo_err kymo_host_arm_threads(kymo_host *h, uint64_t now_ns)
{
    KYMO_TRY(kymo_host_follow_signal(h, now_ns));
    uint32_t touched = kymo_load_acquire(&h->session->slots_touched);
    if (touched > h->plan.threads)
        touched = h->plan.threads;
    if (touched > h->slots_seen)
        h->slots_seen = touched;
    for (uint32_t i = 0; i < h->slots_seen; i++) {
        struct kymo_host_slot *a = &h->slots[i];
        struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, i);
        uint32_t state = kymo_load_acquire(&slot->state);
        uint32_t generation = kymo_load_relaxed(&slot->generation);
        if (a->open && (state != KYMO_SLOT_LIVE || generation != a->generation)) {
            kymo_host_disarm(h, i);
            a->open = 0;
        }
        if (state != KYMO_SLOT_LIVE || kymo_drain_slot_is_gone(h->drain, i))
            continue;
        if (!a->open) {
            KYMO_TRY(end_former(h, (pid_t)kymo_load_relaxed(&slot->tid), now_ns));
            *a = (struct kymo_host_slot){.generation = generation,
                                         .open = 1,
                                         .tid = (pid_t)kymo_load_relaxed(&slot->tid),
                                         .fd = -1,
                                         .checked_ns = now_ns,
                                         .seen_scan = h->scan};
            if (h->config.engine == KYMO_SESSION_PERF) {
                /* The program wrote the tid: only a thread of its own is armed. */
                if (kymo_task_voluntary_switches(h->pid, a->tid, &a->switches))
                    arm(h, i, 0);
            } else if (h->config.engine == KYMO_SESSION_DISPATCH) {
                (void)dispatch(h, i); /* else it keeps its timer */
            }
        }
        /* Also one that perf was not asked for: in another pid namespace, by a signal that is for
         * timers alone, or where /proc tells nothing. */
        if (a->fd < 0 && !a->is_by_tick)
            a->is_by_tick = set_by_tick(
                h, i, a->is_refused ? &h->config.tick_threads->refused : &(uint32_t){0});
        choose_event(h, i, now_ns);
        /* One that could not be looked at, since it moved at each try. */
        if (h->config.engine == KYMO_SESSION_DISPATCH && !a->dispatched &&
            now_ns >= a->checked_ns + DISPATCH_AGAIN_NS) {
            a->checked_ns = now_ns;
            (void)dispatch(h, i);
        }
    }
    return KYMO_OK;
}

void kymo_host_revive_timers(kymo_host *h)
{
    for (uint32_t i = 0; i < h->slots_seen; i++) {
        struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, i);
        if (!h->slots[i].open || h->slots[i].fd >= 0 || h->slots[i].dispatched ||
            kymo_load_relaxed(&slot->timer_on))
            continue;
        kymo_store_relaxed(&slot->ask_timer, 1u);
        kymo_host_call_thread(h, h->slots[i].tid);
    }
}
