/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_copies.c - which threads are sampled without a signal (observe/stack_copies.h), and when
 * that ends.
 *
 * A thread begins with an event that signals it: a process that ends at once needs no ring, and its
 * first samples tell how much of its stack is in use. What needs a handler keeps it. In a process
 * without our library there are copies alone, from a thread's beginning.
 */
#include <unistd.h>

#include "base/atomic.h"
#include "observe/descriptors.h"
#include "observe/perf_event.h"
#include "recorder/host_state.h"

/* A thread's samples by its handler after which the recorder looks whether it can do without: a
 * ring for a process that ends soon costs more than it saves. Where a process of the same program
 * has lived longer, this one will. */
#define SAMPLES_AT_FIRST 8u
#define SAMPLES_IF_KNOWN 2u

uint64_t kymo_host_samples(const kymo_host *h, uint32_t number)
{
    uint32_t thread = kymo_drain_slot_thread(h->drain, number);
    uint64_t samples = kymo_load_relaxed(&kymo_session_slot(h->session, &h->plan, number)->samples);
    return samples + (thread < h->out.copied.len ? h->out.copied.data[thread].samples : 0);
}

/* Whether samples have what a handler alone finds: frames and labels of Python, labels that end by
 * longjmp, the tidying up after that of allocations that are recorded. */
static int needs_handler(const kymo_host *h)
{
    const struct kymo_session *s = h->session;
    return kymo_stack_copies_are_unfit(h->out.copies) ||
           kymo_load_relaxed(&s->handlers_wanted) != 0 || kymo_load_relaxed(&s->python) != 0 ||
           kymo_load_relaxed(&s->python_came) != 0 || kymo_load_relaxed(&s->quiet) != 0 ||
           kymo_load_relaxed(&s->alloc_rate) != 0 || kymo_drain_definitions(h->drain) != 0;
}

static int may_copy(const kymo_host *h)
{
    if (h->is_outside)
        return h->config.copies && !h->replaced;
    return h->config.flags & KYMO_SESSION_COPIES && h->config.access == KYMO_PERF_KERNEL &&
           !h->replaced && !h->is_filtered && !needs_handler(h);
}

/* Where the thread's stack begins, above its outermost frame; 0: not known. */
static uint64_t stack_begin(const kymo_host *h, const struct kymo_thread_slot *slot)
{
    if (kymo_load_relaxed(&slot->flags) & KYMO_SLOT_MAIN)
        return kymo_task_start_stack(h->pid);
    return kymo_load_relaxed(&slot->stack_hi);
}

static kymo_err on_sample(void *context, const struct kymo_copied_sample *sample)
{
    kymo_host *h = context;
    return kymo_session_events_copied(&h->out, sample);
}

static int runs_on(void *context)
{
    return kymo_host_runs_on(context);
}

static kymo_err need_copies(kymo_host *h)
{
    const struct kymo_stack_copies_config config = {
        .budget = h->config.copies,
        .kernel_stacks = h->config.kernel_stacks,
        .session = h->session,
        .pid = h->pid,
        .exe = &h->exe,
        .process = h->out.process,
        .jit = h->out.jit,
        .is_alone = h->is_outside,
        .events = h->config.events,
        .events_context = h->config.events_context,
        .sample = on_sample,
        .context = h,
        .runs_on = runs_on,
    };
    if (h->out.copies)
        return KYMO_OK;
    KYMO_TRY(kymo_kernel_stacks_need_names(h->config.kernel_stacks));
    kymo_err err = kymo_stack_copies_create(&config, &h->out.copies);
    /* From outside the event comes first. */
    if (err == KYMO_OK && !h->is_outside)
        err = kymo_stack_copies_note_modules(h->out.copies);
    if (err != KYMO_OK) {
        kymo_stack_copies_destroy(h->out.copies);
        h->out.copies = NULL;
    }
    return err;
}

/* Opens the event, and the ring for it; -1: one of them is not to be had. */
static int open_copies(kymo_host *h, pid_t tid, struct kymo_copied_thread *thread)
{
    uint64_t cpu_ns;
    const struct kymo_perf_copies asked = {
        .period_ns = thread->period_ns,
        .stack_bytes = thread->copy_bytes,
        .with_kernel = h->config.access == KYMO_PERF_KERNEL,
        .with_chain = h->is_outside,
    };
    thread->event =
        kymo_descriptors_keep(kymo_perf_open_copies(tid, &asked), KYMO_DESCRIPTORS_EVENTS);
    if (thread->event < 0)
        return -1;
    /* The number is of a thread of this process still, and was when it was opened. */
    if (kymo_task_cpu_ns(h->pid, tid, &cpu_ns) && kymo_host_runs_on(h) &&
        kymo_stack_copies_open(h->out.copies, thread))
        return thread->event;
    close(thread->event);
    return -1;
}

/* What the thread has used since its last sample by a handler, as far as its events have counted:
 * some periods at most. */
static void note_owed(kymo_host *h, uint32_t number, uint32_t thread)
{
    const uint64_t most_ns = KYMO_HOST_OWED_PERIODS * h->config.period_ns;
    /* An error of the recording stays, and the next event tells. */
    (void)!kymo_drain_round(h->drain);
    struct kymo_copied_count *count = &h->out.copied.data[thread];
    uint64_t told_ns = kymo_drain_slot_weight(h->drain, number) + count->cpu_ns;
    uint64_t counted_ns = h->slots[number].counted_ns;
    int is_known = counted_ns > told_ns && !kymo_drain_is_behind(h->drain);
    count->owed_ns = is_known ? counted_ns - told_ns : 0;
    if (count->owed_ns > most_ns)
        count->owed_ns = most_ns;
    /* What interrupts in the kernel were for samples that the handler did not take any more. */
    kymo_kernel_stacks_forget(h->config.kernel_stacks, h->out.process, h->slots[number].tid);
}

/* least: the lowest stack pointer so far. 0: copies would be too short. */
static uint32_t copy_bytes(const kymo_host *h, uint64_t least, uint64_t begin)
{
    if (h->is_outside) {
        uint32_t bytes = kymo_copy_budget_bytes(h->config.copies, &h->exe, 0);
        return bytes ? bytes : KYMO_COPY_MOST;
    }
    return least < begin ? kymo_copy_budget_bytes(h->config.copies, &h->exe, begin - least) : 0;
}

void kymo_host_expect_copies(kymo_host *h)
{
    if (!(h->config.flags & KYMO_SESSION_COPIES))
        return;
    h->handler_samples =
        kymo_copy_budget_has(h->config.copies, &h->exe) ? SAMPLES_IF_KNOWN : SAMPLES_AT_FIRST;
    kymo_store_relaxed(&h->session->handler_samples, h->handler_samples);
}

int kymo_host_copy_stacks(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    if (a->is_unfit || !may_copy(h) || kymo_drain_meet(h->drain, number) != KYMO_OK)
        return 0;
    struct kymo_copied_thread thread = {
        .number = kymo_drain_slot_thread(h->drain, number),
        .period_ns = h->config.period_ns,
        .stack_begin = stack_begin(h, slot),
    };
    if (thread.number == UINT32_MAX || h->out.tids.data[thread.number] != a->tid)
        return 0;
    thread.copy_bytes = copy_bytes(h, kymo_load_relaxed(&slot->sp_least), thread.stack_begin);
    /* If it fails: what is missing will not come. */
    a->is_unfit = 1;
    int fd =
        thread.copy_bytes > 0 && need_copies(h) == KYMO_OK ? open_copies(h, a->tid, &thread) : -1;
    if (fd < 0)
        return 0;
    kymo_host_replace_event(h, number, fd, KYMO_HOST_EVENT_COPIES);
    a->is_unfit = 0;
    note_owed(h, number, thread.number);
    return 1;
}

static void forget_closed(kymo_host *h)
{
    if (kymo_load_relaxed(&h->session->handlers_wanted) == KYMO_HANDLERS_WANTED_IN_VAIN)
        kymo_stack_copies_forget_modules(h->out.copies);
}

kymo_err kymo_host_walk_copies(kymo_host *h)
{
    forget_closed(h);
    return kymo_stack_copies_read(h->out.copies);
}

void kymo_host_end_copies(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    const uint32_t thread = kymo_drain_slot_thread(h->drain, number);
    (void)kymo_perf_disable(a->fd);
    a->is_copied = 0;
    a->is_unfit = !h->is_outside;
    if (thread == UINT32_MAX || h->out.tids.data[thread] != a->tid)
        return; /* it has ended, and its ring was read then */
    /* An error of the recording stays, and the next event tells. */
    forget_closed(h);
    (void)!kymo_stack_copies_close(h->out.copies, thread);
    kymo_store_relaxed(&slot->copied_ns, h->out.copied.data[thread].cpu_ns);
    /* Pairs with the acquire in capture/on_signal.c. */
    kymo_store_release(&slot->is_copied, 0u);
}

int kymo_host_must_end_copies(const kymo_host *h, uint32_t number)
{
    return h->slots[number].is_copied &&
           ((!h->is_outside && needs_handler(h)) ||
            kymo_stack_copies_are_short(h->out.copies, kymo_drain_slot_thread(h->drain, number)));
}
