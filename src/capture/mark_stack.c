/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_stack.c - see mark.h.
 *
 * A thread has one list of pcs, one set of registers and one pin of the depot, which are its
 * handler's. So a marker that wants a stack blocks all signals for as long as it uses them: two
 * system calls, beside a walk of some microseconds. Where a filter forbids those there is no stack.
 *
 * A stack for later use is a separate record, written at once. Ids of the depot hold for one epoch,
 * which may be over when a marker uses the stack.
 */
#include "arch/context.h"
#include "base/atomic.h"
#include "buffer/depot.h"
#include "buffer/record.h"
#include "capture/mark.h"
#include "capture/take_stack.h"
#include "sys/raw.h"

#define EPOCH_SHIFT 48

KYMO_NOINLINE void kymo_mark_stack_begin(struct kymo_capture_thread *t,
                                         struct kymo_mark_stack_hold *hold)
{
    static const uint64_t every = UINT64_MAX;
    struct kymo_capture_process *p = t->process;
    *hold = (struct kymo_mark_stack_hold){0};
    if (kymo_is_quiet(p))
        return;
    kymo_raw_set_mask(&every, &hold->mask);
    hold->held = 1;
    kymo_regs_here(&t->regs);
    hold->id = kymo_stack_take(p, t, NULL);
}

KYMO_NOINLINE void kymo_mark_stack_end(struct kymo_capture_thread *t,
                                       const struct kymo_mark_stack_hold *hold)
{
    if (!hold->held)
        return;
    kymo_depot_leave(t->slot);
    kymo_raw_set_mask(&hold->mask, NULL);
}

/* The process's number for the next one, 0 excluded; it says of which session it is. */
static uint64_t next_number(const struct kymo_capture_process *p)
{
    static uint64_t last;
    uint64_t number = kymo_add_relaxed(&last, 1u) + 1;
    return (uint64_t)p->mark_epoch << EPOCH_SHIFT | (number & ((1ull << EPOCH_SHIFT) - 1));
}

uint64_t kymo_mark_stack(void)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    struct kymo_mark_stack_hold hold;
    struct kymo_stream_writer *w;
    if (!t)
        return KYMO_STACK_NONE;
    struct kymo_capture_process *p = t->process;
    uint64_t number = KYMO_STACK_NONE;
    kymo_mark_stack_begin(t, &hold);
    struct kymo_record_backtrace *r =
        hold.id ? kymo_mark_reserve(t, &w, sizeof *r, KYMO_FRAME_BEGIN()) : NULL;
    if (r) {
        number = next_number(p);
        r->head =
            (struct kymo_record){kymo_process_clock(p), KYMO_RECORD_BACKTRACE, sizeof *r, hold.id};
        r->backtrace = number;
        kymo_mark_publish(w, sizeof *r);
    } else {
        kymo_count_loss(p, KYMO_LOSS_MARK_STACK);
    }
    kymo_mark_stack_end(t, &hold);
    return number;
}
