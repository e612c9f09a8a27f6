/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/thread.h"

#include <string.h>
#include <sys/prctl.h>

#include "arch/thread_block.h"
#include "base/atomic.h"
#include "capture/alloc.h"
#include "capture/timer.h"
#include "capture/trace.h"
#include "sys/clock.h"
#include "sys/raw.h"

struct kymo_capture_process *kymo_process_state;
uint32_t kymo_process_users;
/* Where allocations are not recorded; not const, or the compiler believes it here. */
__attribute__((weak)) const struct kymo_alloc_calls *kymo_alloc_calls = NULL;
__thread struct kymo_capture_thread *kymo_thread_self KYMO_TLS_IE;
__thread uint32_t kymo_thread_session KYMO_TLS_IE;
__thread struct kymo_trace_place kymo_trace_place KYMO_TLS_IE;
__thread uint32_t kymo_thread_epoch KYMO_TLS_IE;
struct kymo_capture_thread kymo_thread_dead;
__thread struct kymo_stack_bounds kymo_thread_stack KYMO_TLS_IE;
__thread struct kymo_alternate_stack kymo_thread_alternate KYMO_TLS_IE;
uint32_t kymo_quiet_here;
__thread uint32_t kymo_quiet_vfork KYMO_TLS_IE;
__thread int64_t kymo_cut_call KYMO_TLS_IE;

struct kymo_capture_thread *kymo_thread_claim(struct kymo_capture_process *p)
{
    uint32_t number = kymo_slot_take(p->session, &p->plan);
    if (number == 0) {
        kymo_count_loss(p, KYMO_LOSS_THREAD_FULL);
        return NULL;
    }
    struct kymo_capture_thread *t = &p->threads[number - 1];
    t->number = number - 1;
    t->pcs = p->pcs + (size_t)t->number * 2 * p->depth;
    t->alloc_pcs = t->pcs + p->depth;
    t->repeats = p->repeats + (size_t)t->number * KYMO_STACK_REPEATS;
    t->slot = kymo_session_slot(p->session, &p->plan, number - 1);
    kymo_store_relaxed(&t->slot->state, KYMO_SLOT_CLAIMED);
    return t;
}

void kymo_thread_unclaim(struct kymo_capture_process *p, struct kymo_capture_thread *t)
{
    kymo_store_release(&t->slot->state, KYMO_SLOT_FREE);
    kymo_slot_give(p->session, &p->plan, t->number);
}

/* Of sessions whose clock is another one. */
static const uint32_t always = 1;

/* The calling thread's number. In a quiet process it is the one that glibc has noted; 0: it is not
 * known. */
static uint32_t own_tid(const struct kymo_capture_process *p)
{
    if (!kymo_is_quiet(p))
        return kymo_raw_gettid();
    uint32_t tid = 0;
    if (p->tid_offset)
        memcpy(&tid, (const char *)(uintptr_t)kymo_thread_block() + p->tid_offset, sizeof tid);
    return tid;
}

void kymo_thread_begin(struct kymo_capture_process *p, struct kymo_capture_thread *t,
                       struct kymo_stack_bounds stack, uint32_t flags)
{
    struct kymo_thread_slot *slot = t->slot;
    kymo_thread_pointer_add();
    t->tid = own_tid(p);
    if (!t->tid) {
        kymo_thread_self = &kymo_thread_dead;
        kymo_thread_unclaim(p, t);
        return;
    }
    t->stack = kymo_thread_stack = stack;
    t->alternate = kymo_thread_alternate;
    t->closing = 0;
    t->exits = 0;
    t->alloc_frame = 0;
    /* The first sample's weight is all the CPU time since the thread began in this image. */
    t->before_cpu_ns = p->is_late && !kymo_is_quiet(p) ? kymo_clock_thread_cpu() : 0;
    t->last_cpu_ns = p->is_late ? t->before_cpu_ns : flags & KYMO_SLOT_MAIN ? p->base_cpu_ns : 0;
    t->timer_failed = 0;
    for (uint32_t k = 0; k < KYMO_STREAMS; k++)
        t->streams[k] = (struct kymo_stream_writer){.kind = k};
    t->process = p;
    /* Of a thread that had this slot before, and whose end no hook saw. */
    if (slot->timer_on)
        kymo_timer_disarm(t);
    t->scopes = kymo_session_scopes(p->session, &p->plan, t->number);
    t->open_scopes = t->labels = t->labels_owed = t->was_labelled = 0;
    t->traced_in = t->calls_missing = t->call_held_bytes = 0;
    kymo_trace_leave_place();
    t->call_place = (struct kymo_call_place){.clock = 0};
    t->other_clock = p->clock == KYMO_CLOCK_TSC ? &p->session->quiet : &always;
    t->mark_epoch = p->mark_epoch << 16;

    slot->tid = t->tid;
    slot->generation++;
    slot->flags = flags;
    slot->start_clock = kymo_process_clock(p);
    slot->end_clock = slot->end_cpu_ns = 0;
    slot->name[0] = '\0';
    slot->samples = slot->handler_ns = slot->disturbed = 0;
    slot->answers = 0;
    slot->depot_pin = slot->alloc_pin = 0;
    slot->alloc_count = slot->alloc_bytes = 0;
    slot->stack_lo = stack.lo;
    slot->stack_hi = stack.hi;
    slot->timer_on = 0;
    slot->perf_fd = slot->perf_fd_before = -1;
    slot->perf_kernel = 0;
    slot->ask_timer = 0;
    slot->seen_cpu_ns = 0;
    slot->pauses = kymo_load_acquire(&p->session->pauses);
    slot->paused_cpu_ns = 0;
    slot->sp_least = UINT64_MAX;
    slot->copied_ns = t->copied_ns = 0;
    slot->is_copied = 0;
    /* From here on a signal finds the thread ready. */
    kymo_signal_fence();
    kymo_thread_session = p->session_number;
    kymo_thread_epoch = t->mark_epoch;
    kymo_thread_self = t;
    /* Pairs with the drain's acquire: a live slot is filled. */
    kymo_store_release(&slot->state, KYMO_SLOT_LIVE);
    if (kymo_alloc_calls)
        kymo_alloc_calls->thread_begin(t);

    /* Where perf or the dispatcher is the engine, the timer is all there is until the recorder has
     * armed the thread, which may live no longer. */
    int armed = kymo_timer_arm(p, t);
    if (p->session->engine == KYMO_SESSION_TIMER) {
        if (!armed && !kymo_is_quiet(p))
            kymo_count_loss(p, KYMO_LOSS_NO_TIMER);
    } else if (!(flags & KYMO_SLOT_MAIN)) {
        /* Of the first thread see kymo_attach_finish. */
        kymo_wake_recorder(p);
    }
}

void kymo_thread_adopt(struct kymo_capture_process *p)
{
    struct kymo_capture_thread *t = kymo_thread_claim(p);
    if (t)
        kymo_thread_begin(p, t, (struct kymo_stack_bounds){0, 0}, KYMO_SLOT_ADOPTED);
}

void kymo_thread_know_stack(struct kymo_capture_thread *t, struct kymo_stack_bounds stack)
{
    /* A signal between the two finds an empty range, as before. */
    kymo_store_relaxed(&t->stack.lo, stack.lo);
    kymo_signal_fence();
    kymo_store_relaxed(&t->stack.hi, stack.hi);
    kymo_thread_stack = stack;
    kymo_store_relaxed(&t->slot->stack_lo, stack.lo);
    kymo_store_relaxed(&t->slot->stack_hi, stack.hi);
}

void kymo_thread_know_alternate(uint64_t lo, uint64_t bytes)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    kymo_thread_alternate = (struct kymo_alternate_stack){lo, bytes};
    if (!t || t == &kymo_thread_dead)
        return;
    /* A signal in between finds none. */
    kymo_store_relaxed(&t->alternate.bytes, 0u);
    kymo_signal_fence();
    kymo_store_relaxed(&t->alternate.lo, lo);
    kymo_signal_fence();
    kymo_store_relaxed(&t->alternate.bytes, bytes);
}

void kymo_thread_end(struct kymo_capture_thread *t)
{
    struct kymo_capture_process *p = t->process;
    if (kymo_alloc_calls && p && p->session)
        kymo_alloc_calls->thread_end(t);
    /* From here on no signal finds the thread. */
    kymo_thread_self = &kymo_thread_dead;
    kymo_signal_fence();
    kymo_trace_leave_place();
    if (!p || !p->session)
        return;
    struct kymo_thread_slot *slot = t->slot;
    if (slot->timer_on)
        kymo_timer_disarm(t);
    t->process = NULL;
    slot->end_clock = kymo_process_clock(p);
    /* Quiet: the recorder has looked at both a moment ago. */
    if (!kymo_is_quiet(p)) {
        /* The recorder knows what the main thread had used before. */
        slot->end_cpu_ns =
            kymo_clock_thread_cpu() - (slot->flags & KYMO_SLOT_MAIN ? 0 : t->before_cpu_ns);
        (void)kymo_syscall3(SYS_prctl, PR_GET_NAME, (long)(intptr_t)slot->name, 0);
    }
    /* Pairs with the drain's acquire: everything of this thread is written. */
    kymo_store_release(&slot->state, KYMO_SLOT_EXITED);
}
