/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/python_walk.h"

#include <pthread.h>
#include <string.h>

#include "arch/system.h"
#include "arch/thread_block.h"

#define WORD 8u
#define PAGE_BITS 12u
/* 3.12 and later: the frame is a mark in the evaluator's own. From 3.14 on 4 is one, too. */
#define OWNER_IS_C_STACK 3u
#define TAG 3u
/* A _PyCFrame so near behind the thread's state is part of it: the outermost. */
#define IN_STATE 4096u
#define NEXT_STATE 8u
#define STATES_MAX 4u
#define LOOKS_MAX 256u /* at interpreters and states, in one sample */

/* ---- memory that may be gone ---- */

static bool read_page(const struct kymo_python_pages *pages, uint64_t page)
{
    const struct kymo_python_outside *o = KYMO_PYTHON_OUTSIDE(pages);
    return o ? o->read_page(o->context, page << PAGE_BITS, o->copies[page % KYMO_PYTHON_PAGES])
             : kymo_page_readable(page << PAGE_BITS);
}

static bool is_readable(struct kymo_python_pages *pages, uint64_t address)
{
    if (address - pages->own < pages->own_bytes)
        return true;
    uint64_t page = address >> PAGE_BITS;
    uint64_t *slot = &pages->page[page % KYMO_PYTHON_PAGES];
    if (page == 0 || address >> KYMO_ADDRESS_BITS)
        return false;
    if (*slot != page) {
        *slot = 0; /* the copy is gone, also if the page cannot be read */
        if (!read_page(pages, page))
            return false;
        *slot = page;
    }
    return true;
}

/* Where the bytes at a readable address are. */
static uint64_t place_of(const struct kymo_python_pages *pages, uint64_t address)
{
    const struct kymo_python_outside *o = KYMO_PYTHON_OUTSIDE(pages);
    return o ? (uint64_t)(uintptr_t)o->copies[(address >> PAGE_BITS) % KYMO_PYTHON_PAGES] +
                   address % KYMO_PYTHON_PAGE
             : address;
}

bool kymo_python_load_anew(struct kymo_python_pages *pages, uint64_t address, uint64_t *value)
{
    if (address % WORD || !is_readable(pages, address))
        return false;
    *value = kymo_window_read(place_of(pages, address));
    return true;
}

bool kymo_python_copy(struct kymo_python_pages *pages, uint64_t from, void *to, uint64_t bytes)
{
    char *out = to;
    if (from >> KYMO_ADDRESS_BITS || bytes >> KYMO_ADDRESS_BITS)
        return false;
    while (bytes > 0) {
        uint64_t part = KYMO_PYTHON_PAGE - from % KYMO_PYTHON_PAGE;
        part = part < bytes ? part : bytes;
        if (!is_readable(pages, from))
            return false;
        memcpy(out, (const void *)(uintptr_t)place_of(pages, from), part);
        out += part;
        from += part;
        bytes -= part;
    }
    return true;
}

/* ---- the thread ---- */

uint64_t kymo_python_thread_state(const struct kymo_python *python, struct kymo_python_pages *pages)
{
    uint64_t key, thread;
    /* Py_tss_t: whether it was made, and the key. */
    if (!kymo_python_load(pages, python->runtime + python->offsets.key, &key) || (uint32_t)key != 1)
        return 0;
    /* Of glibc: it reads the thread's own array. */
    uint64_t state = (uint64_t)(uintptr_t)pthread_getspecific((pthread_key_t)(key >> 32));
    /* The thread's own number, which is pthread_self()'s, proves that the offsets fit. */
    return state && kymo_python_load(pages, state + python->offsets.thread_id, &thread) &&
                   thread == kymo_thread_block()
               ? state
               : 0;
}

/* ---- frames ---- */

struct walk {
    const struct kymo_python *python;
    struct kymo_python_pages *pages;
    struct kymo_python_stack *out;
    uint64_t top, end; /* of the thread's present chunk: no frame lies between; 0, 0: not known */
};

static bool load(const struct walk *w, uint64_t address, uint64_t *value)
{
    return kymo_python_load(w->pages, address, value);
}

/* Takes one frame; false: it is not one. */
static bool push(const struct walk *w, uint64_t frame)
{
    const struct kymo_python_offsets *o = &w->python->offsets;
    struct kymo_python_stack *s = w->out;
    uint32_t minor = w->python->minor;
    uint64_t code, at, type;
    if (frame >= w->top && frame < w->end) {
        /* It is gone. 3.11 gives its room back before it names the caller; elsewhere what named it
         * is what an earlier call has left. */
        s->faults |= minor == 11 ? 0 : KYMO_PYTHON_BAD_FRAME;
        return minor == 11;
    }
    if (s->frames == KYMO_PYTHON_FRAMES_MAX) {
        s->faults |= KYMO_PYTHON_CUT;
        return false;
    }
    if (!load(w, frame + o->code, &code) || !load(w, frame + o->at, &at)) {
        s->faults |= KYMO_PYTHON_BAD_FRAME;
        return false;
    }
    if (minor >= 14)
        code &= ~(uint64_t)TAG; /* how the reference is counted */
    if (!load(w, code + WORD, &type) || type != w->python->code_type) {
        s->faults |= KYMO_PYTHON_BAD_CODE;
        return false;
    }
    s->frame[s->frames++] =
        (struct kymo_python_frame){code, frame,
                                   minor < 10    ? (uint32_t)at
                                   : minor == 10 ? (uint32_t)at * 2
                                                 : (uint32_t)(at - code - o->instructions)};
    return true;
}

static bool begin_run(const struct walk *w, uint64_t mark, uint32_t first)
{
    struct kymo_python_stack *s = w->out;
    if (s->runs == KYMO_PYTHON_FRAMES_MAX)
        return false;
    s->run[s->runs++] =
        (struct kymo_python_run){mark, (uint16_t)first, (uint16_t)(s->frames - first)};
    return true;
}

/* Up to 3.10: one frame for each call of the evaluator. */
static void walk_objects(const struct walk *w, uint64_t frame)
{
    while (frame && push(w, frame) && begin_run(w, 0, w->out->frames - 1) &&
           load(w, frame + w->python->offsets.back, &frame))
        continue;
}

/* 3.11: a _PyCFrame lies in each evaluator's native frame; its run ends where that of the next one
 * begins. */
static void walk_cframes(const struct walk *w, uint64_t state, uint64_t cframe)
{
    const struct kymo_python_offsets *o = &w->python->offsets;
    struct kymo_python_stack *s = w->out;
    uint64_t frame, outer, stop;
    for (; cframe && cframe - state >= IN_STATE; cframe = outer) {
        uint32_t first = s->frames;
        if (!load(w, cframe + o->current, &frame) || !load(w, cframe + o->outer, &outer) ||
            !load(w, outer + o->current, &stop)) {
            s->faults |= KYMO_PYTHON_BAD_CFRAME;
            return;
        }
        while (frame && frame != stop && push(w, frame) && load(w, frame + o->back, &frame))
            continue;
        if (frame != stop && !(s->faults & KYMO_PYTHON_CUT)) {
            /* Between two of the evaluator's stores: nothing of this run is sure. */
            s->faults |= KYMO_PYTHON_BAD_CFRAME;
            s->frames = first;
        }
        if (!begin_run(w, cframe, first) || (s->faults & KYMO_PYTHON_CUT))
            return;
    }
}

/* From 3.12 on: a frame without code lies in each evaluator's native frame, and ends its run. */
static void walk_shims(const struct walk *w, uint64_t frame)
{
    const struct kymo_python_offsets *o = &w->python->offsets;
    struct kymo_python_stack *s = w->out;
    uint32_t first = s->frames;
    uint64_t owner;
    for (uint32_t i = 0; frame && i < 2 * KYMO_PYTHON_FRAMES_MAX; i++) {
        if (!load(w, frame + o->owner / WORD * WORD, &owner)) {
            s->faults |= KYMO_PYTHON_BAD_FRAME;
            break;
        }
        if ((owner >> 8 * (o->owner % WORD) & 0xff) >= OWNER_IS_C_STACK) {
            if (!begin_run(w, frame, first))
                return;
            first = s->frames;
        } else if (!push(w, frame)) {
            break;
        }
        if (!load(w, frame + o->back, &frame))
            break;
    }
    if (s->faults & KYMO_PYTHON_CUT)
        (void)begin_run(w, 0, first);
    else
        s->frames = first; /* no evaluator is known to run these */
}

/* Where the thread's frames are. Its chunk says how large it is, as its state does. */
static void find_chunk(struct walk *w, uint64_t state)
{
    uint64_t lo, top, end, size, at = w->python->offsets.chunk;
    if (!at || !load(w, state + at, &lo) || !load(w, state + at + WORD, &top) ||
        !load(w, state + at + 2 * WORD, &end) || !load(w, lo + WORD, &size) || top < lo ||
        top > end || end - lo != size)
        return;
    w->top = top;
    w->end = end;
    if (!KYMO_PYTHON_OUTSIDE(w->pages)) {
        w->pages->own = lo;
        w->pages->own_bytes = end - lo;
    }
}

/* Adds the frames of a state to those of the others. */
static void walk_state(const struct kymo_python *python, uint64_t state, uint64_t cframe,
                       struct kymo_python_pages *pages, struct kymo_python_stack *out)
{
    struct walk w = {python, pages, out, 0, 0};
    uint64_t begin = cframe;
    if (!begin && !load(&w, state + python->offsets.frame, &begin)) {
        out->faults |= KYMO_PYTHON_BAD_FRAME;
        return;
    }
    out->cframe = begin;
    find_chunk(&w, state);
    if (python->minor <= 10) {
        walk_objects(&w, begin);
    } else if (python->minor == 11) {
        walk_cframes(&w, state, begin);
    } else {
        if (python->minor == 12 && !load(&w, begin + python->offsets.current, &begin)) {
            out->faults |= KYMO_PYTHON_BAD_CFRAME;
            return;
        }
        walk_shims(&w, begin);
    }
}

void kymo_python_walk(const struct kymo_python *python, uint64_t state, uint64_t cframe,
                      struct kymo_python_pages *pages, struct kymo_python_stack *out)
{
    out->frames = out->runs = out->faults = 0;
    walk_state(python, state, cframe, pages, out);
    out->states = out->runs > 0;
}

/* ---- sub-interpreters ---- */

/* The thread's other states; their number, STATES_MAX + 1: it cannot be told. Only the thread
 * itself makes and ends them, but what lies between them in a list may change. */
static uint32_t find_others(const struct kymo_python *python, uint64_t state,
                            struct kymo_python_pages *pages, uint64_t others[STATES_MAX])
{
    const uint64_t lists = python->runtime + python->lists.interpreters;
    const uint16_t id_at = python->offsets.thread_id;
    uint64_t interpreter, main, thread, other, id;
    uint32_t n = 0, looks = 0;
    if (!kymo_python_load(pages, lists, &interpreter) ||
        !kymo_python_load(pages, lists + WORD, &main) || interpreter == main)
        return 0;
    if (!kymo_python_load(pages, state + id_at, &thread))
        return STATES_MAX + 1;
    while (interpreter) {
        if (!kymo_python_load(pages, interpreter + python->lists.threads, &other))
            return STATES_MAX + 1;
        while (other) {
            if (looks++ == LOOKS_MAX || !kymo_python_load(pages, other + id_at, &id))
                return STATES_MAX + 1;
            if (id == thread && other != state) {
                if (n == STATES_MAX)
                    return STATES_MAX + 1;
                others[n++] = other;
            }
            if (!kymo_python_load(pages, other + NEXT_STATE, &other))
                return STATES_MAX + 1;
        }
        if (looks++ == LOOKS_MAX ||
            !kymo_python_load(pages, interpreter + python->lists.next, &interpreter))
            return STATES_MAX + 1;
    }
    return n;
}

/* Evaluators of different interpreters are on one native stack: their marks tell the order. There
 * are few runs that are not in order: those of one state are. */
static void sort_runs(struct kymo_python_stack *s)
{
    for (uint32_t i = 1; i < s->runs; i++) {
        const struct kymo_python_run run = s->run[i];
        uint32_t at = i;
        for (; at > 0 && s->run[at - 1].mark > run.mark; at--)
            s->run[at] = s->run[at - 1];
        s->run[at] = run;
    }
}

void kymo_python_walk_thread(const struct kymo_python *python, uint64_t state,
                             struct kymo_python_pages *pages, struct kymo_python_stack *out)
{
    uint64_t others[STATES_MAX];
    uint32_t n = find_others(python, state, pages, others);
    if (kymo_likely(n == 0)) {
        kymo_python_walk(python, state, 0, pages, out);
        return;
    }
    out->frames = out->runs = out->faults = out->states = 0;
    if (n > STATES_MAX) {
        out->faults = KYMO_PYTHON_BAD_STATES;
        return;
    }
    /* Up to 3.10 there are no marks: the state that a thread got first is the outermost one's. */
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t runs = out->runs;
        walk_state(python, i < n ? others[i] : state, 0, pages, out);
        out->states += out->runs > runs;
    }
    if (out->states > 1 && (out->faults || (python->minor <= 10 && out->states > 2))) {
        /* Of some run it is not known where it belongs. */
        out->faults |= KYMO_PYTHON_BAD_STATES;
        out->faults &= ~(uint32_t)KYMO_PYTHON_CUT;
        out->frames = out->runs = 0;
    } else if (python->minor > 10) {
        sort_runs(out);
    }
}
