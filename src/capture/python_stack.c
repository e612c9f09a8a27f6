/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_stack.h"

#include <string.h>

#include "base/atomic.h"
#include "buffer/python_merge.h"

struct owner {
    struct kymo_capture_process *process;
    struct kymo_python_pages *pages;
};

static uint64_t word_of(void *context, const struct kymo_python_frame *f)
{
    const struct owner *o = context;
    int is_hidden;
    uint64_t code = kymo_python_code(o->process, o->pages, f->code, &is_hidden);
    return is_hidden ? 0 : KYMO_PC_PYTHON | code << KYMO_PC_PYTHON_CODE_SHIFT | f->at;
}

/* A thread that left by a longjmp finds its own place again. */
struct kymo_python_place *kymo_python_place_take(struct kymo_capture_process *p,
                                                 const struct kymo_capture_thread *t, int is_alloc)
{
    enum { LOOKS = 8 };
    uint32_t number = t->number * 2 + (uint32_t)(is_alloc != 0);
    for (uint32_t i = 0; i < LOOKS; i++) {
        size_t at = (number + i) % p->python_place_count;
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
                           uint64_t *pcs, uint32_t n, enum kymo_walk_end *end,
                           struct kymo_python_task *task)
{
    uint64_t *sps = kymo_python_sps(place);
    struct owner owner = {p, &place->pages};
    struct kymo_python_merge m = {.python = p->python,
                                  .pages = &place->pages,
                                  .stack = &place->stack,
                                  .pcs = pcs,
                                  .sps = sps,
                                  .words = sps + p->depth,
                                  .n = n,
                                  .room = p->depth,
                                  .context = &owner};
    memset(&place->pages, 0, sizeof place->pages);
    uint64_t state = kymo_python_thread_state(p->python, &place->pages);
    if (!state)
        return n; /* no thread of Python's */
    uint32_t used = kymo_python_merge_run(&m, state, end, word_of);
    if (task)
        kymo_python_task_find(p->python, &place->pages, &place->stack, task);
    if (place->stack.faults & ~(uint32_t)KYMO_PYTHON_CUT)
        kymo_count_loss(p, KYMO_LOSS_PYTHON);
    if (used == 0)
        return n;
    memcpy(pcs, m.words, used * sizeof *pcs);
    return used;
}
