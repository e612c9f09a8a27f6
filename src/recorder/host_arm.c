/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_arm.c - the perf events and timers of a session's threads.
 *
 * Arming: a new thread takes a slot and wakes the recorder, which opens a perf event for it some
 * microseconds later. CPU time used before that is in the weight of the first sample.
 *
 * With or without the kernel: an event that also counts in the kernel samples system calls and page
 * faults where they happen. But if it fires while its thread is about to sleep in a system call,
 * that call returns EINTR. An event that counts only user mode never does that: the interrupt finds
 * the thread in user mode, and the signal is delivered before the next instruction. So a thread is
 * sampled in the kernel only while it does not sleep voluntarily. This is checked in /proc
 * (voluntary switches) each time it has used CHECK_SAMPLES periods of CPU time. Weights are right
 * in both cases, since they come from the CPU clock. For samples of kernel time, a thread with a
 * user-mode event also has a timer (capture/timer.h), which interrupts no system call and fires at
 * the kernel tick.
 *
 * Threads that switch often: each switch to or from a thread with an event makes the kernel
 * reprogram a timer, which costs 2 to 10 us (more in a virtual machine). Two threads that sent each
 * other bytes through pipes used three times the CPU time with events, and PostgreSQL nearly twice.
 * So a thread that sleeps voluntarily at least once in half a millisecond of CPU time gets only the
 * timer, which costs nothing at a switch. It gets its event back when it switches less. If the user
 * asked for perf, it keeps the event.
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
/* The most expensive threads are to be noticed early. */
#define FIRST_CHECK_SAMPLES 3u
#define CHECK_NS 20000000u
#define SHORT_RUN_NS 500000u
#define DISPATCH_AGAIN_NS 100000000u
#define FOLLOW_NS 50000000u /* a timer of a longer period would follow a change too late */

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

void kymo_host_close_event(kymo_host *h, struct kymo_host_slot *a)
{
    uint64_t counted_ns;
    if (a->fd < 0)
        return;
    if (read(a->fd, &counted_ns, sizeof counted_ns) == (ssize_t)sizeof counted_ns)
        a->counted_ns += counted_ns;
    if (a->is_copied)
        kymo_host_end_copies(h, (uint32_t)(a - h->slots));
    else if (a->with_kernel)
        kymo_kernel_stacks_close(h->config.kernel_stacks, h->out.process, a->tid);
    close(a->fd);
    a->fd = -1;
}

void kymo_host_disarm(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    if (a->open)
        kymo_host_close_event(h, a);
    if (a->open && a->dispatched)
        kymo_dispatch_remove(h->config.dispatch, a->dispatched - 1);
    a->dispatched = 0;
    if (a->open)
        kymo_host_end_outside(h, number);
    if (a->open && a->times >= 0)
        close(a->times);
    a->times = -1;
}

/* From now on the thread is sampled at a tick, so its weights are averaged. Counts the thread if
 * that is new. Returns 0 if the thread has not been drained yet: then it cannot be set. */
static int set_by_tick(kymo_host *h, uint32_t number, uint32_t *count)
{
    uint32_t thread = kymo_drain_slot_thread(h->drain, number);
    if (thread >= h->out.by_tick.len)
        return 0;
    *count += !h->out.by_tick.data[thread];
    h->out.by_tick.data[thread] = 1;
    return 1;
}

/* Hands the thread over to the dispatcher. Returns whether it was accepted. */
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
    if (!h->config.dispatch || !kymo_host_may_send(h) || h->config.pauses & 1 ||
        kymo_dispatch_add(h->config.dispatch, &thread, &id) != KYMO_OK)
        return 0;
    a->dispatched = id + 1;
    return 1;
}

/* Opens an event with kernel stacks if the system allows it, else without. */
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

void kymo_host_replace_event(kymo_host *h, uint32_t number, int fd, enum kymo_host_event kind)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    kymo_store_relaxed(&slot->perf_fd_before, a->fd);
    kymo_host_close_event(h, a);
    a->fd = fd;
    a->with_kernel = kind != KYMO_HOST_EVENT_USER;
    a->is_copied = kind == KYMO_HOST_EVENT_COPIES;
    kymo_store_relaxed(&slot->perf_kernel, (uint32_t)a->with_kernel);
    /* Before the first signal: the handler recognizes its event by this number. */
    kymo_store_release(&slot->perf_fd, fd);
    kymo_store_relaxed(&slot->is_copied, (uint32_t)a->is_copied);
    /* Pairs with the fence of capture/hooks.c: that sees this, or this its wish. */
    kymo_fence_seqcst();
    if (a->is_copied && kymo_load_relaxed(&h->session->handlers_wanted))
        return; /* adjust_copies ends them */
    if (!(h->config.pauses & 1))
        (void)kymo_perf_enable(fd);
}

/* Opens the event of this slot's thread; replaces the old one. */
static void arm(kymo_host *h, uint32_t number, int with_kernel)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    /* What is opened for it may have shown that it runs another program. */
    if (!kymo_host_may_send(h) || h->replaced)
        return;
    int tells_chains;
    int fd = kymo_descriptors_keep(open_event(h, a->tid, with_kernel, &tells_chains),
                                   KYMO_DESCRIPTORS_EVENTS);
    if (fd < 0) {
        /* No descriptors are left, or the program changed to another user. An existing event
         * stays, unless it is of copies, which are to end; without one the thread goes to the
         * dispatcher, or takes a timer. */
        if ((a->fd >= 0 && !a->is_copied) || errno == ESRCH)
            return;
        kymo_host_close_event(h, a);
        a->is_refused = 1;
        if (h->config.tick_threads->error == 0)
            h->config.tick_threads->error = errno;
        if (!dispatch(h, number)) {
            kymo_store_relaxed(&slot->ask_timer, 1u);
            kymo_host_call_thread(h, a->tid);
        }
        return;
    }
    if (tells_chains)
        kymo_kernel_stacks_open(h->config.kernel_stacks, h->out.process, a->tid, fd,
                                kymo_clock_ns(CLOCK_MONOTONIC));
    kymo_host_replace_event(h, number, fd,
                            with_kernel ? KYMO_HOST_EVENT_KERNEL : KYMO_HOST_EVENT_USER);
}

int kymo_host_open_event(kymo_host *h)
{
    if (h->config.engine != KYMO_SESSION_PERF || !kymo_host_may_send(h) || h->config.pauses & 1)
        return -1;
    h->main_period_ns = h->config.period_ns;
    h->main_event = kymo_descriptors_keep(kymo_perf_open(h->pid, h->config.period_ns, h->signal, 0),
                                          KYMO_DESCRIPTORS_EVENTS);
    return h->main_event;
}

void kymo_host_drop_event(kymo_host *h)
{
    if (h->main_event >= 0)
        close(h->main_event);
    h->main_event = -1;
}

/* Takes the event that the main thread has started itself. What was set since is set here. Returns
 * 0 if it has started none. */
static int take_event(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    const struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    int fd = h->main_event;
    if (fd < 0 || a->tid != h->pid)
        return 0;
    if (kymo_load_relaxed(&slot->perf_fd) != fd || h->signal != h->config.signal) {
        kymo_host_drop_event(h);
        return 0;
    }
    h->main_event = -1;
    a->fd = fd;
    if (h->main_period_ns != h->config.period_ns)
        (void)kymo_perf_set_period(fd, h->config.period_ns);
    if (h->config.pauses & 1)
        (void)kymo_perf_disable(fd);
    return 1;
}

static int read_switches(const kymo_host *h, pid_t tid, uint64_t *count)
{
    struct kymo_task_status status;
    if (!kymo_task_read_status(h->pid, tid, &status))
        return 0;
    *count = status.voluntary_switches;
    return 1;
}

/* How often a new thread has slept so far. The main thread's status was read when it attached. */
static int first_switches(const kymo_host *h, pid_t tid, uint64_t *count)
{
    if (tid != h->pid || !h->has_status)
        return read_switches(h, tid, count);
    *count = h->status.voluntary_switches;
    return 1;
}

/* Closes the event: the thread keeps only the timer. */
static void leave_to_timer(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    /* It has none yet after copies: its first signal arms one. */
    if (!kymo_load_relaxed(&slot->timer_on) ||
        !set_by_tick(h, number, &h->config.tick_threads->switchers))
        return; /* tried again at the next check */
    a->switches_much = 1;
    kymo_store_relaxed(&slot->perf_fd_before, a->fd);
    kymo_store_release(&slot->perf_fd, -1);
    kymo_host_close_event(h, a);
}

static uint32_t samples_until_check(const kymo_host *h, const struct kymo_host_slot *a)
{
    if (a->checks)
        return CHECK_SAMPLES;
    return h->handler_samples ? h->handler_samples : FIRST_CHECK_SAMPLES;
}

static int read_times(const kymo_host *h, struct kymo_host_slot *a, struct kymo_task_times *times)
{
    /* Most threads are checked once or twice. */
    if (a->times < 0 && a->checks > 1)
        a->times =
            kymo_descriptors_keep(kymo_task_open_times(h->pid, a->tid), KYMO_DESCRIPTORS_TIMES);
    return a->times >= 0 ? kymo_task_read_open_times(a->times, times)
                         : kymo_task_read_times(h->pid, a->tid, times);
}

/* Whether the thread has used CHECK_SAMPLES periods since the last check, and if so, how much CPU
 * time and how often it slept. Its samples in the kernel are those of the timer, which are fewer.
 */
static int has_used(const kymo_host *h, struct kymo_host_slot *a, uint64_t samples,
                    uint64_t *used_ns, uint64_t *sleeps)
{
    struct kymo_task_times times;
    uint64_t switches;
    /* A kernel that does not count says 0. */
    int known = read_times(h, a, &times) && times.runs > 0;
    uint32_t enough = samples_until_check(h, a);
    *used_ns = known ? times.cpu_ns - a->checked_cpu_ns : UINT64_MAX;
    *sleeps = 0;
    if (samples < a->checked_samples + enough &&
        (!known || *used_ns < enough * h->config.period_ns))
        return 0;
    /* Who has kept its CPU did not sleep; its status, which is long, says nothing new. */
    if (!known || times.runs != a->runs) {
        if (!read_switches(h, a->tid, &switches))
            return 0;
        *sleeps = switches - a->switches;
        a->switches = switches;
    }
    a->checks++;
    if (known) {
        a->checked_cpu_ns = times.cpu_ns;
        a->runs = times.runs;
    }
    return 1;
}

/* The thread has its handler again; or longer copies, where there is none. */
static void leave_copies(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    if (h->is_outside) {
        kymo_host_close_event(h, a);
        (void)kymo_host_copy_stacks(h, number);
        return;
    }
    arm(h, number, h->config.access == KYMO_PERF_KERNEL && !a->sleeps);
    if (a->is_copied) /* nothing may send it a signal, or it is gone */
        kymo_host_close_event(h, a);
    /* Its handler has taken none of these. */
    a->seen_samples = a->checked_samples = kymo_host_samples(h, number);
}

/* Chooses: with the kernel for threads that do not sleep, user mode for those that do, no event
 * for those that switch often. */
static void choose_event(kymo_host *h, uint32_t number, uint64_t now_ns)
{
    struct kymo_host_slot *a = &h->slots[number];
    uint64_t samples = kymo_host_samples(h, number);
    uint64_t used_ns, sleeps;
    if (h->is_outside || h->config.engine != KYMO_SESSION_PERF ||
        (a->fd < 0 && !a->switches_much) || samples == a->seen_samples ||
        (a->checks && now_ns < a->checked_ns + CHECK_NS))
        return;
    a->seen_samples = samples;
    if (!has_used(h, a, samples, &used_ns, &sleeps))
        return;
    a->checked_samples = samples;
    a->checked_ns = now_ns;
    a->sleeps = sleeps != 0;
    if (a->switches_much) {
        if (used_ns / 2 < sleeps * SHORT_RUN_NS)
            return;
        a->switches_much = 0;
        arm(h, number, 0);
    } else if (h->config.spares_switchers && !a->with_kernel && used_ns < sleeps * SHORT_RUN_NS) {
        leave_to_timer(h, number);
    } else if (a->is_copied) {
        /* Its timer comes with the event that signals it. */
        if (h->config.spares_switchers && used_ns < sleeps * SHORT_RUN_NS)
            leave_copies(h, number);
    } else if (!kymo_host_copy_stacks(h, number) && h->config.access == KYMO_PERF_KERNEL &&
               (sleeps != 0) == a->with_kernel) {
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

/* The kernel gives a new thread only an unused tid, so the thread that had it has ended, though
 * no hook saw it. */
static kymo_err end_former(kymo_host *h, pid_t tid, uint64_t now_ns)
{
    uint32_t number = kymo_host_slot_of(h, tid);
    if (number == UINT32_MAX)
        return KYMO_OK;
    kymo_host_disarm(h, number);
    h->slots[number].open = 0;
    /* If its slot says that it ended, the drain ends it. */
    if (kymo_load_acquire(&kymo_session_slot(h->session, &h->plan, number)->state) !=
        KYMO_SLOT_LIVE)
        return KYMO_OK;
    return kymo_drain_end_slot(h->drain, number, now_ns);
}

kymo_err kymo_host_read_copies(kymo_host *h)
{
    KYMO_TRY(kymo_host_walk_copies(h));
    for (uint32_t i = 0; !h->is_stopped && i < h->slots_seen; i++)
        if (h->slots[i].open && kymo_host_must_end_copies(h, i))
            leave_copies(h, i);
    return KYMO_OK;
}

kymo_err kymo_host_arm_threads(kymo_host *h, uint64_t now_ns)
{
    KYMO_TRY(kymo_host_follow_signal(h, now_ns));
    uint32_t touched = kymo_load_acquire(&h->session->slots_touched);
    if (touched > h->plan.threads)
        touched = h->plan.threads;
    if (touched > h->slots_seen)
        h->slots_seen = touched;
    int copied = 0;
    const uint32_t handlers_wanted = kymo_load_relaxed(&h->session->handlers_wanted);
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
                                         .times = -1,
                                         .checked_ns = now_ns,
                                         .seen_scan = h->scan};
            if (h->is_outside) {
                kymo_host_begin_outside(h, i);
            } else if (h->config.engine == KYMO_SESSION_PERF) {
                /* the program wrote the tid: only threads of this process are armed */
                if (first_switches(h, a->tid, &a->switches) && !take_event(h, i))
                    arm(h, i, 0);
            } else if (h->config.engine == KYMO_SESSION_DISPATCH) {
                (void)dispatch(h, i); /* on failure it keeps its timer */
            }
        }
        /* Also a thread without a perf event: in another pid namespace, with a signal that only
         * timers may use, or if /proc cannot be read. */
        if (a->fd < 0 && !a->is_by_tick)
            a->is_by_tick = set_by_tick(
                h, i, a->is_refused ? &h->config.tick_threads->refused : &(uint32_t){0});
        if (kymo_host_must_end_copies(h, i))
            leave_copies(h, i);
        choose_event(h, i, now_ns);
        copied |= a->is_copied;
        /* A thread that the dispatcher could not read because it moved at each try. */
        if (h->config.engine == KYMO_SESSION_DISPATCH && !a->dispatched &&
            now_ns >= a->checked_ns + DISPATCH_AGAIN_NS) {
            a->checked_ns = now_ns;
            (void)dispatch(h, i);
        }
    }
    /* Pairs with the acquire in capture/hooks.c: each copy until then was walked. */
    if (handlers_wanted && !copied)
        kymo_store_release(&h->session->handlers_given, 1u);
    return KYMO_OK;
}

/* A thread's timer follows at its next signal. If that may be long in coming, the thread is called.
 */
void kymo_host_follow_period(kymo_host *h, uint64_t before_ns)
{
    const uint64_t period_ns = h->config.period_ns;
    for (uint32_t i = 0; i < h->slots_seen; i++) {
        const struct kymo_host_slot *a = &h->slots[i];
        if (!a->open)
            continue;
        if (a->is_copied) /* its ring was made for another one */
            leave_copies(h, i);
        else if (a->fd >= 0)
            (void)kymo_perf_set_period(a->fd, period_ns);
        else if (!a->dispatched && !h->foreign && period_ns < before_ns && before_ns > FOLLOW_NS &&
                 kymo_load_relaxed(&kymo_session_slot(h->session, &h->plan, i)->timer_on))
            kymo_host_call_thread(h, a->tid);
    }
}

void kymo_host_leave_dispatcher(kymo_host *h)
{
    for (uint32_t i = 0; i < h->slots_seen; i++) {
        struct kymo_host_slot *a = &h->slots[i];
        if (!a->open || !a->dispatched)
            continue;
        kymo_dispatch_remove(h->config.dispatch, a->dispatched - 1);
        a->dispatched = 0;
        a->rests_dispatched = 1;
    }
}

void kymo_host_return_to_dispatcher(kymo_host *h)
{
    for (uint32_t i = 0; i < h->slots_seen; i++) {
        struct kymo_host_slot *a = &h->slots[i];
        const int was_dispatched = a->open && a->rests_dispatched;
        a->rests_dispatched = 0;
        if (!a->open || a->fd >= 0 || a->dispatched ||
            !(was_dispatched || h->config.engine == KYMO_SESSION_DISPATCH))
            continue;
        if (dispatch(h, i) || !was_dispatched)
            continue;
        /* Its timer is gone since the dispatcher found it first. */
        kymo_store_relaxed(&kymo_session_slot(h->session, &h->plan, i)->ask_timer, 1u);
        kymo_host_call_thread(h, a->tid);
    }
}

void kymo_host_rest(kymo_host *h)
{
    for (uint32_t i = 0; i < h->slots_seen; i++)
        if (h->slots[i].open && h->slots[i].fd >= 0)
            (void)kymo_perf_disable(h->slots[i].fd);
    kymo_host_leave_dispatcher(h);
}

void kymo_host_go_on(kymo_host *h)
{
    for (uint32_t i = 0; i < h->slots_seen; i++)
        if (h->slots[i].open && h->slots[i].fd >= 0)
            (void)kymo_perf_enable(h->slots[i].fd);
    kymo_host_return_to_dispatcher(h);
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
