/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/python_walk.h"

#include <pthread.h>
#include <string.h>

#include "unwind/stack_window.h"

#define WORD 8u
/* Addresses of user memory have 47 bits. */
#define ADDRESS_BITS 47u
#define PAGE_BITS 12u
/* 3.12 and later: the frame is a mark in the evaluator's own. From 3.14 on 4 is one, too. */
#define OWNER_IS_C_STACK 3u
#define TAG 3u
/* A _PyCFrame so near behind the thread's state is part of it: the outermost. */
#define IN_STATE 4096u

/* ---- memory that may be gone ---- */

/* In libkymo-preload.so there is no other process to read, and no code for it. */
#ifdef KYMO_HOT
#define OUTSIDE(pages) ((void)(pages), (const struct kymo_python_outside *)NULL)
#else
#define OUTSIDE(pages) ((pages)->outside)
#endif

static bool read_page(const struct kymo_python_pages *pages, uint64_t page)
{
    const struct kymo_python_outside *o = OUTSIDE(pages);
    return o ? o->read_page(o->context, page << PAGE_BITS, o->copies[page % KYMO_PYTHON_PAGES])
             : kymo_page_readable(page << PAGE_BITS);
}

static bool is_readable(struct kymo_python_pages *pages, uint64_t address)
{
    uint64_t page = address >> PAGE_BITS;
    uint64_t *slot = &pages->page[page % KYMO_PYTHON_PAGES];
    if (page == 0 || address >> ADDRESS_BITS)
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
    const struct kymo_python_outside *o = OUTSIDE(pages);
    return o ? (uint64_t)(uintptr_t)o->copies[(address >> PAGE_BITS) % KYMO_PYTHON_PAGES] +
                   address % KYMO_PYTHON_PAGE
             : address;
}

bool kymo_python_load(struct kymo_python_pages *pages, uint64_t address, uint64_t *value)
{
    if (address % WORD || !is_readable(pages, address))
        return false;
    *value = kymo_window_read(place_of(pages, address));
    return true;
}

bool kymo_python_copy(struct kymo_python_pages *pages, uint64_t from, void *to, uint64_t bytes)
{
    char *out = to;
    if (from >> ADDRESS_BITS || bytes >> ADDRESS_BITS)
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
                   thread == (uint64_t)(uintptr_t)__builtin_thread_pointer()
               ? state
               : 0;
}

/* ---- frames ---- */

struct walk {
    const struct kymo_python *python;
    struct kymo_python_pages *pages;
    struct kymo_python_stack *out;
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
    uint32_t first = 0;
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

void kymo_python_walk(const struct kymo_python *python, uint64_t state, uint64_t cframe,
                      struct kymo_python_pages *pages, struct kymo_python_stack *out)
{
    const struct walk w = {python, pages, out};
    uint64_t begin = cframe;
    out->frames = out->runs = out->faults = 0;
    if (!begin && !load(&w, state + python->offsets.frame, &begin)) {
        out->faults = KYMO_PYTHON_BAD_FRAME;
        return;
    }
    out->cframe = begin;
    if (python->minor <= 10) {
        walk_objects(&w, begin);
    } else if (python->minor == 11) {
        walk_cframes(&w, state, begin);
    } else {
        if (python->minor == 12 && !load(&w, begin + python->offsets.current, &begin)) {
            out->faults = KYMO_PYTHON_BAD_CFRAME;
            return;
        }
        walk_shims(&w, begin);
    }
}
