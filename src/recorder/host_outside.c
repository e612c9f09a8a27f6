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

void kymo_host_take_slot(kymo_host *h, pid_t tid)
{
    const uint32_t taken = kymo_slot_take(h->session, &h->plan);
    if (taken == 0) {
        kymo_add_relaxed(&h->session->lost[KYMO_LOSS_THREAD_FULL], 1u);
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

kymo_err kymo_host_look_for_threads(kymo_host *h, uint64_t now_ns)
{
    uint64_t taken = h->threads_taken - 1;
    kymo_host_notice_exec(h, 1);
    if (h->replaced || now_ns < h->next_threads_ns)
        return KYMO_OK;
    for (int i = 0; i < LOOKS_MOST && taken != h->threads_taken; i++) {
        taken = h->threads_taken;
        KYMO_TRY(kymo_host_scan_tasks(h, now_ns));
        KYMO_TRY(kymo_host_arm_threads(h, now_ns));
        h->is_looked_at = 1;
    }
    h->next_threads_ns = now_ns + SCAN_NS * (h->listed / SCAN_MANY);
    /* Before there was what tells of it. */
    kymo_host_notice_exec(h, 1);
    return KYMO_OK;
}

static kymo_err on_tasks(void *context)
{
    struct kymo_host_tasks *t = context;
    kymo_host *h = t->host;
    struct kymo_perf_tasks_told told = kymo_perf_tasks_read(&t->tasks);
    if (!told.anything) {
        kymo_host_end_outside(h, t->slot);
        return KYMO_OK;
    }
    /* What was copied before is of what was mapped before. */
    if (told.code && !told.execs && h->out.copies) {
        KYMO_TRY(kymo_host_walk_copies(h));
        kymo_stack_copies_renew_modules(h->out.copies);
    }
    if (told.processes)
        h->config.on_relative(h->config.on_relative_context);
    /* May end this thread's own. */
    return told.threads || told.execs
               ? kymo_host_look_for_threads(h, kymo_clock_ns(CLOCK_MONOTONIC))
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
    /* What it has used before it has an event is in its first sample; not so what is shown as the
     * start of the main thread, or what threads did before the recording. */
    if (kymo_task_cpu_ns(h->pid, a->tid, &cpu_ns)) {
        uint64_t before_ns = a->tid == h->pid                 ? h->out.main_cpu_before
                             : h->is_late && !h->is_looked_at ? cpu_ns
                                                              : 0;
        a->counted_ns = cpu_ns > before_ns ? cpu_ns - before_ns : 0;
    }
    const int is_sampled = kymo_host_copy_stacks(h, number);
    listen_to(h, number);
    if (is_sampled)
        (void)!kymo_stack_copies_note_modules(h->out.copies); /* or stacks are missing */
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
