/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_stack.h"

#include <string.h>

#include "base/atomic.h"

struct merge {
    struct kymo_capture_process *process;
    struct kymo_python_place *place;
    const uint64_t *pcs, *sps;
    uint64_t *words; /* what comes out */
    uint32_t n;      /* native frames */
    uint32_t used, room;
    uint32_t next_run;
    int is_cut; /* there were more frames than are kept: the outermost are missing */
};

static int is_evaluator(const struct merge *m, uint32_t i)
{
    const struct kymo_python *python = m->process->python;
    uint64_t pc = (m->pcs[i] & ~KYMO_PC_EXACT) - (i != 0);
    return pc >= python->eval_lo && pc < python->eval_hi;
}

/* Where a native frame ends; of the outermost one that is not known. */
static uint64_t end_of(const struct merge *m, uint32_t i)
{
    return i + 1 < m->n ? m->sps[i + 1] : UINT64_MAX;
}

static void put(struct merge *m, uint64_t word)
{
    if (m->used < m->room)
        m->words[m->used++] = word;
    else
        m->is_cut = 1;
}

/* Returns 0 if none of its frames is shown. */
static int put_run(struct merge *m, const struct kymo_python_run *run)
{
    uint32_t before = m->used;
    const struct kymo_python_stack *s = &m->place->stack;
    for (uint32_t i = 0; i < run->count; i++) {
        const struct kymo_python_frame *f = &s->frame[run->first + i];
        int is_hidden;
        uint64_t code = kymo_python_code(m->process, &m->place->pages, f->code, &is_hidden);
        if (!is_hidden)
            put(m, KYMO_PC_PYTHON | code << KYMO_PC_PYTHON_CODE_SHIFT | f->at);
    }
    return m->used > before;
}

/* Whether this native frame runs the next run. */
static int runs_next(struct merge *m, uint32_t i)
{
    const struct kymo_python_stack *s = &m->place->stack;
    /* Of a frame that the walk did not find. */
    while (m->next_run < s->runs && s->run[m->next_run].mark &&
           s->run[m->next_run].mark < m->sps[i])
        m->next_run++;
    if (m->next_run == s->runs)
        return 0;
    uint64_t mark = s->run[m->next_run].mark;
    /* Where the outermost frame ends is not known: it is the run's if it is an evaluator. */
    return mark && i + 1 < m->n ? mark < end_of(m, i) : is_evaluator(m, i);
}

static void merge_by_address(struct merge *m)
{
    const struct kymo_python_stack *s = &m->place->stack;
    for (uint32_t i = 0; i < m->n && !m->is_cut; i++) {
        const struct kymo_python_run *run = NULL;
        if (runs_next(m, i))
            run = &s->run[m->next_run++];
        if (!run || !put_run(m, run))
            put(m, m->pcs[i]);
        /* What is outside of this run is not known. */
        if (run && m->next_run == s->runs && s->faults & KYMO_PYTHON_CUT)
            m->is_cut = 1;
    }
}

/* Up to 3.10 calls of the evaluator and frames are counted from the outermost. The innermost call
 * may be on its way in or out, and has no frame then. */
static void merge_by_count(struct merge *m)
{
    uint32_t calls = 0;
    for (uint32_t i = 0; i < m->n; i++)
        calls += (uint32_t)is_evaluator(m, i);
    uint32_t idle = calls > m->place->stack.runs ? calls - m->place->stack.runs : 0;
    for (uint32_t i = 0; i < m->n; i++) {
        int is_call = is_evaluator(m, i) && m->next_run < m->place->stack.runs;
        if (is_call && idle > 0) {
            idle--;
            is_call = 0;
        }
        if (!is_call || !put_run(m, &m->place->stack.run[m->next_run++]))
            put(m, m->pcs[i]);
    }
}

/* Of a native stack that was cut, the outermost calls are missing: all frames come behind the
 * native ones that are surely inside them. */
static void merge_cut(struct merge *m)
{
    uint32_t i = 0;
    while (i < m->n && !is_evaluator(m, i))
        put(m, m->pcs[i++]);
}

static void put_rest(struct merge *m)
{
    while (m->next_run < m->place->stack.runs)
        (void)put_run(m, &m->place->stack.run[m->next_run++]);
}

/* 3.11 and 3.12: the evaluator links its _PyCFrame in before it fills it. Then the walk begins at
 * the next evaluator outwards, whose _PyCFrame is as far below the end of its native frame as in
 * any other sample. */
static void resume(struct merge *m, uint64_t state)
{
    struct kymo_python *python = m->process->python;
    struct kymo_python_stack *s = &m->place->stack;
    uint32_t i = 0;
    while (i < m->n && (!is_evaluator(m, i) || s->cframe < m->sps[i] || s->cframe >= end_of(m, i)))
        i++;
    if (i + 1 >= m->n)
        return;
    uint64_t below = kymo_load_relaxed(&python->cframe_below);
    if (!(s->faults & ~(uint32_t)KYMO_PYTHON_CUT)) {
        if (end_of(m, i) - s->cframe != below)
            kymo_store_relaxed(&python->cframe_below, end_of(m, i) - s->cframe);
        return;
    }
    do
        i++;
    while (i < m->n && !is_evaluator(m, i));
    if (below && i + 1 < m->n)
        kymo_python_walk(python, state, end_of(m, i) - below, &m->place->pages, s);
}

/* A thread that left by a longjmp finds its own place again. */
struct kymo_python_place *kymo_python_place_take(struct kymo_capture_process *p,
                                                 const struct kymo_capture_thread *t, int is_alloc)
{
    enum { LOOKS = 8 };
    uint32_t number = t->number * 2 + (uint32_t)(is_alloc != 0);
    for (uint32_t i = 0; i < LOOKS; i++) {
        size_t at = (number + i) % KYMO_PYTHON_PLACES;
        struct kymo_python_place *place =
            (struct kymo_python_place *)(void *)(p->python_places +
                                                 at * kymo_python_place_bytes(p->depth));
        uint32_t owner = 0;
        if (kymo_cas_acq_rel(&place->owner, &owner, number + 1) || owner == number + 1)
            return place;
    }
    kymo_count_loss(p, KYMO_LOSS_PYTHON);
    return NULL;
}

uint32_t kymo_python_merge(struct kymo_capture_process *p, struct kymo_python_place *place,
                           uint64_t *pcs, uint32_t n, enum kymo_walk_end *end)
{
    int is_complete = *end == KYMO_WALK_COMPLETE;
    const struct kymo_python *python = p->python;
    uint64_t *sps = kymo_python_sps(place);
    struct merge m = {.process = p,
                      .place = place,
                      .pcs = pcs,
                      .sps = sps,
                      .words = sps + p->depth,
                      .n = n,
                      .room = p->depth};
    memset(&place->pages, 0, sizeof place->pages);
    uint64_t state = kymo_python_thread_state(python, &place->pages);
    if (!state)
        return n; /* no thread of Python's */
    kymo_python_walk(python, state, 0, &place->pages, &place->stack);
    if (python->minor == 11 || python->minor == 12)
        resume(&m, state);
    uint32_t faults = place->stack.faults;
    if (faults & ~(uint32_t)KYMO_PYTHON_CUT)
        kymo_count_loss(p, KYMO_LOSS_PYTHON);
    if (place->stack.runs == 0)
        return n;
    if (python->minor > 10)
        merge_by_address(&m);
    else if (is_complete && !faults)
        merge_by_count(&m);
    else
        merge_cut(&m);
    if (!is_complete || (faults && python->minor <= 10))
        put_rest(&m);
    if (m.is_cut || faults & KYMO_PYTHON_CUT)
        *end = KYMO_WALK_DEPTH;
    else if (faults && is_complete)
        *end = KYMO_WALK_BAD_STACK;
    memcpy(pcs, m.words, m.used * sizeof *pcs);
    return m.used;
}
