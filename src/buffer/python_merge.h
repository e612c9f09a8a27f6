/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_merge.h - puts Python frames in the place of the evaluator's native ones.
 *
 * Layer:    buffer; above unwind (python_walk.h)
 * Flow:     a native stack, the state of its thread -> [merge] -> words of a stack (record.h)
 * Threads:  any
 * Memory:   the caller's
 * Signals:  safe
 *
 * The handler merges its own thread's stack, the recorder those of threads that wait. Each has the
 * code compiled into it, with its own way to number code objects.
 */
#ifndef KYMO_BUFFER_PYTHON_MERGE_H
#define KYMO_BUFFER_PYTHON_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/attr.h"
#include "buffer/record.h"
#include "unwind/python_walk.h"
#include "unwind/unwind.h"

/* What is put for a Python frame: a word with KYMO_PC_PYTHON; 0: it is not shown. */
typedef uint64_t kymo_python_word(void *context, const struct kymo_python_frame *frame);

struct kymo_python_merge {
    struct kymo_python *python;
    struct kymo_python_pages *pages;
    struct kymo_python_stack *stack; /* to be walked */
    const uint64_t *pcs, *sps;       /* the native stack: its pcs may have KYMO_PC_EXACT */
    uint64_t *words;                 /* what comes out */
    uint32_t n;                      /* native frames */
    uint32_t used, room;             /* words */
    uint32_t next_run;
    int is_cut;    /* there were more frames than are kept: the outermost are missing */
    void *context; /* of the function that makes words */
};

static inline int kymo_merge_is_evaluator(const struct kymo_python_merge *m, uint32_t i)
{
    const struct kymo_python *python = m->python;
    uint64_t pc = (m->pcs[i] & ~KYMO_PC_EXACT) - (i != 0);
    uint64_t cold = kymo_load_relaxed(&python->cold_lo);
    return (pc >= python->eval_lo && pc < python->eval_hi) ||
           (cold && pc >= cold && pc < kymo_load_relaxed(&python->cold_hi));
}

/* A native frame that spans a mark is an evaluator's, also where its code is in a part of its own
 * (.cold), which no symbol of a stripped interpreter names. What is within so many bytes is taken
 * for the same part. */
#define KYMO_PYTHON_COLD_MAX 0x20000u
static inline void kymo_merge_learn_cold(const struct kymo_python_merge *m, uint32_t i)
{
    struct kymo_python *python = m->python;
    uint64_t pc = (m->pcs[i] & ~KYMO_PC_EXACT) - (i != 0);
    uint64_t lo = kymo_load_relaxed(&python->cold_lo), hi = kymo_load_relaxed(&python->cold_hi);
    if (pc < python->lo || pc >= python->hi ||
        (lo && (pc + KYMO_PYTHON_COLD_MAX < hi || pc >= lo + KYMO_PYTHON_COLD_MAX)))
        return;
    if (!lo || pc < lo)
        kymo_store_relaxed(&python->cold_lo, pc);
    if (pc >= hi)
        kymo_store_relaxed(&python->cold_hi, pc + 1);
}

/* Where a native frame ends; of the outermost one that is not known. */
static inline uint64_t kymo_merge_end_of(const struct kymo_python_merge *m, uint32_t i)
{
    return i + 1 < m->n ? m->sps[i + 1] : UINT64_MAX;
}

static inline void kymo_merge_put(struct kymo_python_merge *m, uint64_t word)
{
    if (m->used < m->room)
        m->words[m->used++] = word;
    else
        m->is_cut = 1;
}

/* Returns 0 if none of its frames is shown. */
KYMO_INLINE int kymo_merge_put_run(struct kymo_python_merge *m, const struct kymo_python_run *run,
                                   kymo_python_word *word)
{
    uint32_t before = m->used;
    const struct kymo_python_stack *s = m->stack;
    for (uint32_t i = 0; i < run->count; i++) {
        uint64_t made = word(m->context, &s->frame[run->first + i]);
        if (made)
            kymo_merge_put(m, made);
    }
    return m->used > before;
}

/* Whether this native frame runs the next run. */
static inline int kymo_merge_runs_next(struct kymo_python_merge *m, uint32_t i)
{
    const struct kymo_python_stack *s = m->stack;
    /* Of a frame that the walk did not find. */
    while (m->next_run < s->runs && s->run[m->next_run].mark &&
           s->run[m->next_run].mark < m->sps[i])
        m->next_run++;
    if (m->next_run == s->runs)
        return 0;
    uint64_t mark = s->run[m->next_run].mark;
    /* Where the outermost frame ends is not known: it is the run's if it is an evaluator. */
    return mark && i + 1 < m->n ? mark < kymo_merge_end_of(m, i) : kymo_merge_is_evaluator(m, i);
}

KYMO_INLINE void kymo_merge_by_address(struct kymo_python_merge *m, kymo_python_word *word)
{
    const struct kymo_python_stack *s = m->stack;
    for (uint32_t i = 0; i < m->n && !m->is_cut; i++) {
        const struct kymo_python_run *run = NULL;
        if (kymo_merge_runs_next(m, i)) {
            run = &s->run[m->next_run++];
            if (!s->faults && !kymo_merge_is_evaluator(m, i))
                kymo_merge_learn_cold(m, i);
        }
        if (!run || !kymo_merge_put_run(m, run, word))
            kymo_merge_put(m, m->pcs[i]);
        /* What is outside of this run is not known. */
        if (run && m->next_run == s->runs && s->faults & KYMO_PYTHON_CUT)
            m->is_cut = 1;
    }
}

/* Up to 3.10: the evaluator's calls without a frame. The innermost one may be on its way in or out,
 * and has none then. Anything but 0 and 1 says that the frames are of other calls: the chain of a
 * greenlet ends where it began, and the native stack goes on with its parent's. */
static inline uint32_t kymo_merge_idle_calls(const struct kymo_python_merge *m)
{
    uint32_t calls = 0;
    for (uint32_t i = 0; i < m->n; i++)
        calls += (uint32_t)kymo_merge_is_evaluator(m, i);
    return calls - m->stack->runs;
}

/* Up to 3.10 calls of the evaluator and frames are counted from the outermost. */
KYMO_INLINE void kymo_merge_by_count(struct kymo_python_merge *m, uint32_t idle,
                                     kymo_python_word *word)
{
    for (uint32_t i = 0; i < m->n; i++) {
        int is_call = kymo_merge_is_evaluator(m, i) && m->next_run < m->stack->runs;
        if (is_call && idle > 0) {
            idle--;
            is_call = 0;
        }
        if (!is_call || !kymo_merge_put_run(m, &m->stack->run[m->next_run++], word))
            kymo_merge_put(m, m->pcs[i]);
    }
}

/* Of a native stack that was cut, the outermost calls are missing: all frames come behind the
 * native ones that are surely inside them. */
static inline void kymo_merge_cut(struct kymo_python_merge *m)
{
    uint32_t i = 0;
    while (i < m->n && !kymo_merge_is_evaluator(m, i))
        kymo_merge_put(m, m->pcs[i++]);
}

KYMO_INLINE void kymo_merge_put_rest(struct kymo_python_merge *m, kymo_python_word *word)
{
    while (m->next_run < m->stack->runs)
        (void)kymo_merge_put_run(m, &m->stack->run[m->next_run++], word);
}

/* 3.11 and 3.12: the evaluator links its _PyCFrame in before it fills it. Then the walk begins at
 * the next evaluator outwards, whose _PyCFrame is as far below the end of its native frame as in
 * any other sample. */
static inline void kymo_merge_resume(struct kymo_python_merge *m, uint64_t state)
{
    struct kymo_python *python = m->python;
    struct kymo_python_stack *s = m->stack;
    uint32_t i = 0;
    while (i < m->n && (!kymo_merge_is_evaluator(m, i) || s->cframe < m->sps[i] ||
                        s->cframe >= kymo_merge_end_of(m, i)))
        i++;
    if (i + 1 >= m->n)
        return;
    uint64_t below = kymo_load_relaxed(&python->cframe_below);
    if (!(s->faults & ~(uint32_t)KYMO_PYTHON_CUT)) {
        if (kymo_merge_end_of(m, i) - s->cframe != below)
            kymo_store_relaxed(&python->cframe_below, kymo_merge_end_of(m, i) - s->cframe);
        return;
    }
    do
        i++;
    while (i < m->n && !kymo_merge_is_evaluator(m, i));
    if (below && i + 1 < m->n)
        kymo_python_walk(python, state, kymo_merge_end_of(m, i) - below, m->pages, s);
}

/* Walks the frames of a thread's state and puts them into its native stack. Returns the number of
 * words; 0: the stack stays as it is. What was wrong with the walk, m->stack says. *end: how the
 * native walk ended, and then how the whole stack does. */
KYMO_INLINE uint32_t kymo_python_merge_run(struct kymo_python_merge *m, uint64_t state,
                                           enum kymo_walk_end *end, kymo_python_word *word)
{
    const struct kymo_python *python = m->python;
    int is_complete = *end == KYMO_WALK_COMPLETE;
    kymo_python_walk_thread(python, state, m->pages, m->stack);
    if ((python->minor == 11 || python->minor == 12) && m->stack->states <= 1 &&
        !(m->stack->faults & KYMO_PYTHON_BAD_STATES))
        kymo_merge_resume(m, state);
    if (m->stack->runs == 0) {
        if (m->stack->faults & KYMO_PYTHON_BAD_STATES && is_complete)
            *end = KYMO_WALK_BAD_STACK;
        return 0;
    }
    uint32_t idle = python->minor <= 10 && is_complete ? kymo_merge_idle_calls(m) : 0;
    if (idle > 1)
        m->stack->faults |= KYMO_PYTHON_BAD_STATES;
    uint32_t faults = m->stack->faults;
    if (python->minor > 10)
        kymo_merge_by_address(m, word);
    else if (is_complete && !faults)
        kymo_merge_by_count(m, idle, word);
    else
        kymo_merge_cut(m);
    if (!is_complete || (faults && python->minor <= 10))
        kymo_merge_put_rest(m, word);
    if (m->is_cut || faults & KYMO_PYTHON_CUT)
        *end = KYMO_WALK_DEPTH;
    else if (faults && is_complete)
        *end = KYMO_WALK_BAD_STACK;
    return m->used;
}

#endif
