/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/alloc_words.h"

#include <errno.h>

#include "buffer/depot.h"
#include "capture/alloc_next.h"
#include "capture/claim.h"
#include "capture/fork_child.h"
#include "sys/allocator.h"
#include "sys/raw.h"

/* What these functions may need of the stack. */
#define ROOM_BYTES (32u << 10)

struct kymo_alloc_words_from kymo_alloc_words_from;

/* ---- who may ask ---- */

/* Every frame is known, no handler's is among them, and none that is the allocator's own: one such
 * may hold a lock for which its function would wait for ever. That the C library is on the stack
 * says nothing: its allocator calls no other library. */
static int stack_allows(const struct kymo_capture_process *p, uint32_t stack)
{
    struct kymo_depot depot = kymo_depot_at(p->session, &p->plan, kymo_depot_id_epoch(stack) & 1);
    const struct kymo_depot_entry *entry = (const void *)(depot.arena + kymo_depot_id_word(stack));
    if ((entry->flags & KYMO_STACK_END_MASK) != KYMO_WALK_COMPLETE ||
        entry->flags >> KYMO_STACK_NOTES_SHIFT & KYMO_WALK_BY_SIGNAL_FRAME)
        return 0;
    if (kymo_alloc_words_from.allocator == KYMO_ALLOCATOR_GLIBC)
        return 1;
    for (uint32_t i = 0; i < entry->n; i++)
        if (kymo_alloc_next_is_allocator(entry->pcs[i]))
            return 0;
    return 1;
}

int kymo_alloc_words_may(const struct kymo_capture_thread *t, uint64_t here, uint32_t stack)
{
    return kymo_alloc_words_from.function && stack && !kymo_is_quiet(t->process) &&
           !kymo_fork_was_bare() && kymo_stack_is_own(t, here) &&
           here - t->stack.lo >= ROOM_BYTES && stack_allows(t->process, stack);
}

/* ---- an answer ---- */

static void ask(struct kymo_allocator_report *report)
{
    uint64_t function = kymo_alloc_words_from.function;
    switch (kymo_alloc_words_from.allocator) {
    case KYMO_ALLOCATOR_GLIBC:
        kymo_allocator_ask_glibc(report, function);
        break;
    case KYMO_ALLOCATOR_JEMALLOC:
        kymo_allocator_ask_jemalloc(report, function);
        break;
    case KYMO_ALLOCATOR_TCMALLOC:
        kymo_allocator_ask_tcmalloc(report, function);
        break;
    case KYMO_ALLOCATOR_MIMALLOC:
        kymo_allocator_ask_mimalloc(report, function);
        break;
    default:
        break;
    }
}

void kymo_alloc_words_answer(struct kymo_capture_process *p)
{
    struct kymo_allocator_words *words = &p->session->allocator_words;
    uint32_t taken = kymo_load_relaxed(&words->taken);
    uint32_t wanted = kymo_load_relaxed(&p->session->allocator_wanted);
    if (wanted == taken || !kymo_cas_acq_rel(&words->taken, &taken, wanted))
        return;
    struct kymo_allocator_report report = {0};
    uint64_t mask;
    int saved = errno;
    uint64_t begin = kymo_process_clock(p);
    kymo_store_relaxed(&words->answered, 0u);
    kymo_fence_release();
    /* A handler that came in between could ask for memory itself, or jump out, with the locks of
     * all arenas held. */
    kymo_raw_block_all(&mask);
    ask(&report);
    kymo_raw_set_mask(&mask, NULL);
    for (uint32_t i = 0; i < KYMO_ALLOCATOR_WORD_COUNT; i++)
        kymo_store_relaxed(&words->value[i], report.value[i]);
    kymo_store_relaxed(&words->known, report.known);
    uint64_t end = kymo_process_clock(p);
    kymo_store_relaxed(&words->clock, end);
    kymo_store_relaxed(&words->took, end - begin);
    kymo_store_release(&words->answered, wanted);
    errno = saved;
}
