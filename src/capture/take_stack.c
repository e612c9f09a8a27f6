/* SPDX-License-Identifier: Apache-2.0 */
/*
 * take_stack.c - see take_stack.h.
 *
 * The order matters: the depot is pinned before the walk, since the pin also tells the dlclose hook
 * that a thread may be reading unwind tables; a new stack registers its modules before it is
 * stored.
 */
#include "capture/take_stack.h"

#include "base/atomic.h"
#include "base/hash.h"
#include "buffer/depot.h"
#include "capture/module.h"
#include "capture/python_stack.h"
#include "capture/trace.h"
#include "unwind/unwind.h"

/* Interns a stack; 0 when there is no room. */
static uint32_t intern(struct kymo_capture_process *p, const uint64_t *pcs, uint32_t epoch,
                       uint32_t n, uint32_t generation, const struct kymo_walk_result *walk)
{
    struct kymo_stack_key key = {pcs, n, generation,
                                 (uint32_t)walk->end | walk->notes << KYMO_STACK_NOTES_SHIFT};
    uint32_t id = kymo_depot_find(p->session, &p->plan, epoch, &key);
    if (id == 0) {
        kymo_modules_note(p, pcs, n);
        id = kymo_depot_insert(p->session, &p->plan, epoch, &key);
        if (id == 0)
            kymo_count_loss(p, KYMO_LOSS_STACK_FULL);
    }
    return id;
}

/* Where the task is to be noted; NULL: nowhere. Where calls are traced the tracer sets the label,
 * and one of a moment would end that. Where each allocation is recorded the label would take more
 * than the record. */
static struct kymo_python_task *task_of(const struct kymo_capture_process *p,
                                        struct kymo_capture_thread *t, int is_alloc)
{
    struct kymo_python_task *task = is_alloc ? &t->alloc_task : &t->task;
    task->bytes = 0;
    if ((t->traced_in && t->traced_in == kymo_load_relaxed(&kymo_trace_now.turn)) ||
        (is_alloc && kymo_load_relaxed(&p->session->alloc_rate) == 1))
        return NULL;
    return task;
}

/* Pinned. complete: how many frames there are, if that is all and nothing else is to be said. */
KYMO_INLINE uint32_t take(struct kymo_capture_process *p, struct kymo_capture_thread *t,
                          const struct kymo_walk_place *place, uint32_t epoch, uint64_t *callers,
                          uint32_t *complete)
{
    uint64_t *pcs = place->pcs;
    if (kymo_unlikely(kymo_is_quiet(p)))
        kymo_store_relaxed(&p->walker.probe_allowed, 0u);
    uint32_t generation = kymo_load_acquire(&p->session->module_generation);
    if (kymo_unlikely(kymo_tables_are_new(p)))
        kymo_tables_take(p);
    /* Sequentially consistent, after the pin: either the dlclose hook sees that, or this sees it.
     */
    uint32_t options = kymo_load_seqcst(&p->closing) && !t->closing ? KYMO_WALK_WHILE_CLOSING : 0;
    struct kymo_walk_result walk;
    int is_alloc = pcs == t->alloc_pcs;
    struct kymo_python_task *task = task_of(p, t, is_alloc);
    if (kymo_unlikely(kymo_load_acquire(&p->session->python_came) && !p->python_adopted))
        kymo_python_adopt(p);
    /* Pairs with the release in python_find.c. */
    struct kymo_python_place *python = kymo_load_acquire(&p->python) && p->walker.probe_allowed
                                           ? kymo_python_place_take(p, t, is_alloc)
                                           : NULL;
    size_t n = kymo_unwind_walk_with_sps(&p->walker, place->regs, &t->stack, pcs,
                                         python ? kymo_python_sps(python) : NULL, p->depth, options,
                                         &walk);
    if (callers)
        *callers = n > 1 ? kymo_hash_words(pcs + 1, n - 1, n) : 0;
    for (uint32_t i = 0; i < walk.exact_count; i++)
        if (walk.exact[i] < n)
            pcs[walk.exact[i]] |= KYMO_PC_EXACT;
    if (kymo_unlikely(python != NULL)) {
        n = kymo_python_merge(p, python, pcs, (uint32_t)n, &walk.end, task);
        kymo_python_place_give(python);
    }
    /* How a row was found is not part of a stack's identity. */
    walk.notes &= KYMO_WALK_BY_FRAME_POINTER | KYMO_WALK_BY_SIGNAL_FRAME;
    *complete = walk.end == KYMO_WALK_COMPLETE && !walk.notes && !options ? (uint32_t)n : 0;
    return intern(p, pcs, epoch, (uint32_t)n, generation, &walk);
}

uint32_t kymo_stack_take_at(struct kymo_capture_process *p, struct kymo_capture_thread *t,
                            const struct kymo_walk_place *place, uint64_t *callers)
{
    uint32_t complete;
    return take(p, t, place, kymo_depot_pin(p->session, place->pin), callers, &complete);
}

/* Only a stack that came twice in a row is worth its notes. */
static KYMO_NOINLINE uint32_t take_anew(struct kymo_capture_process *p,
                                        struct kymo_capture_thread *t,
                                        const struct kymo_walk_place *place,
                                        struct kymo_stack_repeat *last, uint32_t epoch,
                                        uint32_t modules)
{
    struct kymo_regs *regs = place->regs;
    uint64_t ip = regs->ip, sp = regs->gpr[KYMO_REG_SP], fp = regs->gpr[KYMO_REG_FP];
    uint32_t n;
    uint32_t id = take(p, t, place, epoch, NULL, &n);
    int came_twice = id == last->id && epoch == last->epoch && modules == last->modules;
    last->notes.count = 0;
    kymo_signal_fence();
    if (!came_twice) {
        last->id = id;
        last->epoch = epoch;
        last->modules = modules;
        last->unfit = 0;
    } else if (id && id != last->unfit) {
        regs->ip = ip;
        regs->gpr[KYMO_REG_SP] = sp;
        regs->gpr[KYMO_REG_FP] = fp;
        if (!n || !kymo_walk_note(&p->walker, regs, &t->stack, place->pcs, n, &last->notes))
            last->unfit = id;
    }
    return id;
}

uint32_t kymo_stack_take_again(struct kymo_capture_process *p, struct kymo_capture_thread *t,
                               const struct kymo_walk_place *place, uint64_t caller)
{
    if (kymo_unlikely(kymo_load_relaxed(&p->python) !=
                      NULL)) /* the same native stack may run other Python code */
        return kymo_stack_take_at(p, t, place, NULL);
    uint64_t which = kymo_hash_mix(caller, place->regs->gpr[KYMO_REG_SP]);
    struct kymo_stack_repeat *last = &t->repeats[which % KYMO_STACK_REPEATS];
    uint32_t epoch = kymo_depot_pin(p->session, place->pin);
    uint32_t modules = kymo_load_acquire(&p->session->module_generation);
    if (kymo_likely(last->epoch == epoch && last->modules == modules) &&
        kymo_walk_repeats(&p->walker, place->regs, &t->stack, &last->notes))
        return last->id;
    return take_anew(p, t, place, last, epoch, modules);
}

uint32_t kymo_stack_take_caller(struct kymo_capture_process *p, const struct kymo_walk_place *place,
                                uint64_t caller)
{
    uint32_t epoch = kymo_depot_pin(p->session, place->pin);
    uint32_t generation = kymo_load_acquire(&p->session->module_generation);
    struct kymo_walk_result walk = {.end = KYMO_WALK_COMPLETE};
    /* The first pc of a stack is no return address: within the call, then. */
    place->pcs[0] = caller - 1;
    return intern(p, place->pcs, epoch, 1, generation, &walk);
}
