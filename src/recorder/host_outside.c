/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_outside.c - a process that our library is not in: a static program, one of Go, one with
 * another loader.
 *
 * What the library does elsewhere is done here: the session, which nobody but the recorder maps,
 * gets a slot for each thread. So all that reads sessions serves such a process, too. Threads are
 * found in /proc, in each round, and when the kernel says that one has been made (perf_tasks.h).
 * Their samples are copies of stacks (host_copies.c).
 */
#include <stdlib.h>

#include "base/atomic.h"
#include "buffer/stream.h"
#include "observe/perf_tasks.h"
#include "recorder/host_state.h"
#include "recorder/poller.h"
#include "sys/clock.h"

/* Lists of /proc beyond this take a millisecond and more. */
#define SCAN_MANY 128u
#define SCAN_NS 100000000u
#define RENEW_NS 20000000u  /* between two looks at what is mapped */
#define ENDED_NS 100000000u /* for so long /proc may have a thread that has ended */
#define SHARE_NS 40000000u  /* between two looks at who needs a ring */
#define IDLE_LOOKS 16u      /* without a sample, after which a thread does not */
#define RINGLESS_LOOKS 64u  /* at a time: each reads a file of /proc */
/* Threads that were made while others were looked for. */
#define LOOKS_MOST 4

/* What a thread makes. */
struct kymo_host_tasks {
    struct kymo_poll_source source;
    struct kymo_perf_tasks tasks;
    kymo_host *host;
    uint32_t slot;
};

void kymo_host_set_outside(kymo_host *h, int is_found_late)
{
    struct kymo_session *s = h->session;
    h->is_outside = 1;
    h->is_found_late = is_found_late;
    /* Nothing is sent to it. */
    h->signal = 0;
    kymo_store_relaxed(&s->signal_now, 0u);
    h->config.wall = NULL;
    h->config.alloc_rate = h->out.heap.rate = 0;
    kymo_store_relaxed(&s->alloc_rate, (uint64_t)0);
    kymo_store_release(&s->attached, 1u);
}

int kymo_host_is_outside(const kymo_host *h)
{
    return h->is_outside;
}

/* ---- threads ---- */

/* It is over at once: its number may soon be another one's. The main thread's is not, before the
 * process has ended. /proc has what ends for a while. */
static kymo_err end_slot(kymo_host *h, uint32_t number, uint64_t now_ns)
{
    const pid_t tid = h->slots[number].tid;
    if (tid == h->pid) {
        kymo_host_end_outside(h, number);
        return KYMO_OK;
    }
    h->ended[h->n_ended++ % KYMO_HOST_ENDED] = (struct kymo_host_ended){tid, now_ns};
    kymo_host_disarm(h, number);
    h->slots[number].open = 0;
    return kymo_drain_end_slot(h->drain, number, now_ns);
}

static int has_just_ended(const kymo_host *h, pid_t tid)
{
    const uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < KYMO_HOST_ENDED; i++)
        if (h->ended[i].tid == tid && now_ns < h->ended[i].end_ns + ENDED_NS)
            return 1;
    return 0;
}

void kymo_host_take_slot(kymo_host *h, pid_t tid)
{
    if (has_just_ended(h, tid))
        return;
    const uint32_t taken = kymo_slot_take(h->session, &h->plan);
    if (taken == 0) {
        h->threads_refused++;
        return;
    }
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, taken - 1);
    slot->tid = (uint32_t)tid;
    slot->generation++;
    slot->flags = tid == h->pid ? KYMO_SLOT_MAIN : KYMO_SLOT_ADOPTED;
    slot->start_clock = kymo_clock_now(h->config.clock);
    /* What events count is more than its clock, which is gone at its end: a reader fits the sum to
     * the process's. */
    slot->end_cpu_ns = 0;
    slot->perf_fd = slot->perf_fd_before = -1;
    slot->is_copied = 0;
    h->threads_taken++;
    kymo_store_release(&slot->state, KYMO_SLOT_LIVE);
}

/* As many at a time: a thread that stays is found each time. */
static void tell_refused(kymo_host *h)
{
    if (h->threads_refused <= h->threads_lost)
        return;
    kymo_add_relaxed(&h->session->lost[KYMO_LOSS_THREAD_FULL],
                     (uint64_t)(h->threads_refused - h->threads_lost));
    h->threads_lost = h->threads_refused;
}

/* What was copied before is of what was mapped before. A program that maps code all the time is
 * looked at once a round. */
static kymo_err renew_modules(kymo_host *h, uint64_t now_ns)
{
    h->has_mapped = now_ns < h->renewed_ns + RENEW_NS;
    if (h->has_mapped || !h->out.copies)
        return KYMO_OK;
    h->renewed_ns = now_ns;
    KYMO_TRY(kymo_host_walk_copies(h));
    kymo_stack_copies_renew_modules(h->out.copies);
    return KYMO_OK;
}

kymo_err kymo_host_look_for_threads(kymo_host *h, uint64_t now_ns)
{
    uint64_t taken = h->threads_taken - 1;
    kymo_host_notice_exec(h, 1);
    if (h->replaced || now_ns < h->next_threads_ns)
        return KYMO_OK;
    for (int i = 0; i < LOOKS_MOST && taken != h->threads_taken; i++) {
        taken = h->threads_taken;
        h->threads_refused = 0;
        KYMO_TRY(kymo_host_scan_tasks(h, now_ns));
        tell_refused(h);
        KYMO_TRY(kymo_host_arm_threads(h, now_ns));
        h->is_looked_at = 1;
    }
    h->next_threads_ns = now_ns + SCAN_NS * (h->listed / SCAN_MANY);
    /* Before there was what tells of it. */
    kymo_host_notice_exec(h, 1);
    return h->has_mapped ? renew_modules(h, now_ns) : KYMO_OK;
}

static kymo_err on_tasks(void *context)
{
    struct kymo_host_tasks *t = context;
    kymo_host *h = t->host;
    const uint32_t number = t->slot;
    const uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    const struct kymo_perf_tasks_told told = kymo_perf_tasks_read(&t->tasks);
    for (int i = 0; i < told.processes; i++)
        KYMO_TRY(h->config.on_relative(h->config.on_relative_context, h->pid, told.process[i]));
    if (told.is_cut)
        KYMO_TRY(h->config.on_relative(h->config.on_relative_context, h->pid, 0));
    if ((told.code || told.is_cut) && !told.execs)
        KYMO_TRY(renew_modules(h, now_ns));
    if (told.has_ended)
        KYMO_TRY(end_slot(h, number, now_ns));
    return told.threads || told.execs || told.is_cut ? kymo_host_look_for_threads(h, now_ns)
                                                     : KYMO_OK;
}

static void listen_to(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_host_tasks *t = malloc(sizeof *t);
    if (!t || !kymo_perf_tasks_open(&t->tasks, a->tid)) {
        free(t);
        return;
    }
    t->host = h;
    t->slot = number;
    t->source = (struct kymo_poll_source){t->tasks.fd, on_tasks, t};
    if (kymo_poller_add(h->config.poller, &t->source) != KYMO_OK) {
        kymo_perf_tasks_close(&t->tasks);
        free(t);
        return;
    }
    a->tasks = t;
}

void kymo_host_begin_outside(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    uint64_t cpu_ns = 0;
    /* What it has used before it has an event is in its first sample, if that is little; not so
     * what is shown as the start of the main thread, or what threads did before the recording. */
    if (kymo_task_cpu_ns(h->pid, a->tid, &cpu_ns)) {
        const int is_first_look = !h->is_looked_at;
        const uint64_t most_ns =
            h->is_found_late && is_first_look ? 0 : KYMO_HOST_OWED_PERIODS * h->config.period_ns;
        uint64_t before_ns = a->tid == h->pid              ? h->out.main_cpu_before
                             : h->is_late && is_first_look ? cpu_ns
                                                           : 0;
        uint64_t used_ns = cpu_ns > before_ns ? cpu_ns - before_ns : 0;
        a->counted_ns = used_ns < most_ns ? used_ns : most_ns;
        h->out.unsampled_ns += used_ns - a->counted_ns;
    }
    const int is_sampled = kymo_host_copy_stacks(h, number);
    listen_to(h, number);
    if (is_sampled)
        (void)!kymo_stack_copies_note_modules(h->out.copies); /* or stacks are missing */
}

/* Threads that have had no sample for a while need no ring. */
static void give_back_idle(kymo_host *h)
{
    for (uint32_t i = 0; i < h->slots_seen; i++)
        if (h->slots[i].open && h->slots[i].idle_looks >= IDLE_LOOKS)
            kymo_host_close_event(h, &h->slots[i]);
}

static void note_idle(kymo_host *h)
{
    for (uint32_t i = 0; i < h->slots_seen; i++) {
        struct kymo_host_slot *a = &h->slots[i];
        if (!a->open || !a->is_copied)
            continue;
        const uint64_t samples = kymo_host_samples(h, i);
        a->idle_looks = samples == a->seen_samples ? a->idle_looks + 1 : 0;
        a->seen_samples = samples;
    }
}

void kymo_host_share_rings(kymo_host *h, uint64_t now_ns)
{
    uint32_t looked = 0;
    if (h->replaced || now_ns < h->next_share_ns)
        return;
    h->next_share_ns = now_ns + SHARE_NS;
    note_idle(h);
    for (uint32_t i = 0; i < h->slots_seen && looked < RINGLESS_LOOKS; i++) {
        const uint32_t number = (h->next_ringless + i) % h->slots_seen;
        struct kymo_host_slot *a = &h->slots[number];
        uint64_t cpu_ns;
        if (!a->open || a->fd >= 0)
            continue;
        looked++;
        if (!kymo_task_cpu_ns(h->pid, a->tid, &cpu_ns) ||
            cpu_ns < a->checked_cpu_ns + h->config.period_ns)
            continue;
        a->checked_cpu_ns = cpu_ns;
        a->is_unfit = 0;
        if (kymo_host_copy_stacks(h, number))
            continue;
        give_back_idle(h);
        a->is_unfit = 0;
        (void)kymo_host_copy_stacks(h, number);
    }
    h->next_ringless += looked;
}

void kymo_host_end_outside(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    if (!a->tasks)
        return;
    kymo_poller_remove(h->config.poller, &a->tasks->source);
    kymo_perf_tasks_close(&a->tasks->tasks);
    free(a->tasks);
    a->tasks = NULL;
}
