/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/signal_move.h"

#include <signal.h>

#include "base/atomic.h"

/* The present action and those before it: a reader copies an old one rather than wait for a writer,
 * which may be the very thread that the reader has interrupted, or one that a fork left behind. */
#define RING 8u

struct own_signal {
    int signo;
    uint32_t current; /* counts; which of the ring is present modulo RING */
    struct kymo_program_action ring[RING];
};

static struct own_signal own_signals[KYMO_OWN_SIGNALS];
static uint32_t own_count;

int kymo_own_signal_find(int signo)
{
    /* Pairs with the release of add. */
    int count = (int)kymo_load_acquire(&own_count);
    for (int i = 0; i < count; i++)
        if (own_signals[i].signo == signo)
            return i;
    return -1;
}

uint64_t kymo_own_signal_mask(void)
{
    uint64_t mask = 0;
    uint32_t count = kymo_load_acquire(&own_count);
    for (uint32_t i = 0; i < count; i++)
        mask |= KYMO_SIGNAL_BIT(own_signals[i].signo);
    return mask;
}

int kymo_own_signal_add(int signo, const struct kymo_program_action *action)
{
    int own = kymo_own_signal_find(signo);
    if (own < 0) {
        if (own_count == KYMO_OWN_SIGNALS)
            return -1;
        own = (int)own_count;
        own_signals[own].signo = signo;
        own_signals[own].ring[0] = *action;
        kymo_store_release(&own_count, own_count + 1);
    }
    kymo_program_action_set(own, action);
    return own;
}

void kymo_own_signals_forget(void)
{
    kymo_store_release(&own_count, 0u);
}

struct kymo_program_action kymo_program_action_get(int own, uint32_t *which)
{
    struct own_signal *of = &own_signals[own];
    struct kymo_program_action action;
    uint32_t at;
    do {
        /* Pairs with the release of set. */
        at = kymo_load_acquire(&of->current);
        const struct kymo_program_action *from = &of->ring[at % RING];
        action.handler = kymo_load_relaxed(&from->handler);
        action.mask = kymo_load_relaxed(&from->mask);
        action.flags = kymo_load_relaxed(&from->flags);
        kymo_fence_acquire();
        /* A writer that has come round to this place wrote all others first. */
    } while (kymo_load_relaxed(&of->current) - at >= RING - 1);
    if (which)
        *which = at % RING;
    return action;
}

void kymo_program_action_set(int own, const struct kymo_program_action *action)
{
    struct own_signal *of = &own_signals[own];
    uint32_t next = kymo_load_relaxed(&of->current) + 1;
    struct kymo_program_action *to = &of->ring[next % RING];
    kymo_fence_release(); /* the count that readers look at again is older than what follows */
    kymo_store_relaxed(&to->handler, action->handler);
    kymo_store_relaxed(&to->mask, action->mask);
    kymo_store_relaxed(&to->flags, action->flags);
    kymo_store_release(&of->current, next);
}

int kymo_program_action_reset(int own, uint32_t which, void (*handler)(int))
{
    return kymo_cas_relaxed(&own_signals[own].ring[which].handler, &handler, SIG_DFL);
}
