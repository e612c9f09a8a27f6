/* SPDX-License-Identifier: Apache-2.0 */
/*
 * take_stack.c - see take_stack.h.
 *
 * The order matters: the depot is pinned before the walk, since the pin also tells the dlclose hook
 * that somebody may be reading unwind tables; a new stack registers its modules before it is
 * stored.
 */
#include "capture/take_stack.h"

#include "base/atomic.h"
#include "base/hash.h"
#include "buffer/depot.h"
#include "capture/module.h"
#include "capture/tables.h"
#include "unwind/unwind.h"

/* Interns the stack in t->pcs; 0 when there is no room. */
static uint32_t intern(struct kymo_process *p, struct kymo_thread *t, uint32_t epoch, uint32_t n,
                       uint32_t generation, const struct kymo_walk_result *walk)
{
    struct kymo_stack_key key = {t->pcs, n, generation,
                                 (uint32_t)walk->end | walk->notes << KYMO_STACK_NOTES_SHIFT};
    uint32_t id = kymo_depot_find(p->session, &p->plan, epoch, &key);
    if (id == 0) {
        kymo_modules_note(p, t->pcs, n);
        id = kymo_depot_insert(p->session, &p->plan, epoch, &key);
        if (id == 0)
            kymo_count_loss(p, KYMO_LOSS_STACK_FULL);
    }
    return id;
}

uint32_t kymo_stack_take(struct kymo_process *p, struct kymo_thread *t, uint64_t *callers)
{
    if (kymo_unlikely(kymo_is_quiet(p)))
        kymo_store_relaxed(&p->walker.probe_allowed, 0u);
    uint32_t epoch = kymo_depot_enter(p->session, t->slot);
    uint32_t generation = kymo_load_acquire(&p->session->module_generation);
    if (kymo_unlikely(kymo_tables_are_new(p)))
        kymo_tables_take(p);
    /* Sequentially consistent, after the pin: either the dlclose hook sees that, or this sees it.
     */
    uint32_t options = kymo_load_seqcst(&p->closing) && !t->closing ? KYMO_WALK_WHILE_CLOSING : 0;
    struct kymo_walk_result walk;
    size_t n = kymo_unwind_walk(&p->walker, &t->regs, &t->stack, t->pcs, p->depth, options, &walk);
    if (callers)
        *callers = n > 1 ? kymo_hash_words(t->pcs + 1, n - 1, n) : 0;
    for (uint32_t i = 0; i < walk.exact_count; i++)
        if (walk.exact[i] < n)
            t->pcs[walk.exact[i]] |= KYMO_PC_EXACT;
    /* How a row was found is not part of a stack's identity. */
    walk.notes &= KYMO_WALK_BY_FRAME_POINTER | KYMO_WALK_BY_SIGNAL_FRAME;
    return intern(p, t, epoch, (uint32_t)n, generation, &walk);
}
