/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_repeat.h - whether a walk would find what an earlier one found.
 *
 * Layer:    unwind; above base
 * Flow:     capture/take_stack.c -> [note a walk; ask whether it repeats] -> the stack's id
 * Threads:  notes are one thread's
 * Memory:   the caller's
 * Signals:  safe
 *
 * A walk of common frames depends on where it begins and on a few words of the stack: the return
 * addresses, and the saved frame pointers that it has counted from. They are noted with their
 * places. Where each of them still is what it was, the walk would find the same, frame by frame:
 * that is no guess, and takes a load and a comparison for a frame, none of which waits for another.
 *
 * A program that asks for memory in a loop asks from the same stack again and again.
 */
#ifndef KYMO_UNWIND_WALK_REPEAT_H
#define KYMO_UNWIND_WALK_REPEAT_H

#include "base/atomic.h"
#include "unwind/stack_window.h"
#include "unwind/unwind.h"

#define KYMO_WALK_WORDS_MAX 124u

struct kymo_walk_word {
    uint64_t at;
    uint64_t value;
};

/* Zeroed memory has no notes. */
struct kymo_walk_notes {
    uint64_t ip, sp; /* where the walk began */
    uint64_t fp;
    uint64_t stack_hi;      /* of the thread's own stack, in which it was */
    uint32_t generation;    /* of the walker's rows */
    uint32_t fp_is_counted; /* 1: some frame was counted from fp as it was at the beginning */
    uint32_t count;         /* 0: there are none */
    uint32_t unused;        /* 48 bytes, and 16 for each word */
    struct kymo_walk_word words[KYMO_WALK_WORDS_MAX];
};

/* Notes the walk that begins here, and that has found these pcs up to the outermost frame
 * (KYMO_WALK_COMPLETE). Returns 0, and there are no notes: some frame is not a common one, there
 * are too many, or they are not these. stack: not NULL, known. */
KYMO_SIGNAL_SAFE int kymo_walk_note(struct kymo_walker *walker, const struct kymo_regs *regs,
                                    const struct kymo_stack_bounds *stack, const uint64_t *pcs,
                                    size_t n, struct kymo_walk_notes *notes);

/* Whether a walk from here would find what was noted. */
__attribute__((no_sanitize("address"))) KYMO_SIGNAL_SAFE static inline int kymo_walk_repeats(
    const struct kymo_walker *walker, const struct kymo_regs *regs,
    const struct kymo_stack_bounds *stack, const struct kymo_walk_notes *notes)
{
    uint32_t count = notes->count;
    if (count == 0 || notes->sp != regs->gpr[KYMO_REG_SP] || notes->ip != regs->ip ||
        notes->stack_hi != stack->hi ||
        (notes->fp_is_counted && notes->fp != regs->gpr[KYMO_REG_FP]) ||
        notes->generation != kymo_load_acquire(&walker->generation))
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (kymo_window_read(notes->words[i].at) != notes->words[i].value)
            return 0;
    return 1;
}

#endif
