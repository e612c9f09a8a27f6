/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/stack_window.h"

#include "arch/system.h"
#include "sys/raw.h"
#include "unwind/module.h"
#include "unwind/unwind.h"

/* The last page below the limit of user addresses is never mapped. */
#define HIGHEST_WORD ((1ull << KYMO_ADDRESS_BITS) - KYMO_PROBE_PAGE - 8)

void kymo_window_enter(struct kymo_stack_window *window, uint64_t sp)
{
    if (sp < window->bounds_lo || sp >= window->bounds_hi)
        return;
    /* The page of sp is in use; the one below may be the guard, so a red zone that reaches into it
     * is left to the probe. */
    uint64_t lo = sp - KYMO_RED_ZONE_BYTES < sp ? sp - KYMO_RED_ZONE_BYTES : 0;
    uint64_t page = sp & ~(KYMO_PROBE_PAGE - 1);
    if (lo < page)
        lo = page;
    if (lo < window->bounds_lo)
        lo = window->bounds_lo;
    if (window->own_hi == 0 || lo < window->own_lo)
        window->own_lo = lo;
    window->own_hi = window->bounds_hi;
}

bool kymo_page_readable(uint64_t address)
{
    return kymo_raw_is_readable(address);
}

static bool probe_page(struct kymo_stack_window *window, uint64_t page)
{
    if (page >= window->probed_lo && page < window->probed_hi)
        return true;
    if (!window->probe_allowed) {
        window->notes |= KYMO_WALK_PROBE_REFUSED;
        return false;
    }
    if (window->probes_left == 0)
        return false;
    window->probes_left--;
    window->notes |= KYMO_WALK_BY_PROBE;
    if (!kymo_page_readable(page))
        return false;
    if (window->probed_hi != 0 && page == window->probed_hi) {
        window->probed_hi += KYMO_PROBE_PAGE;
    } else if (window->probed_hi != 0 && page + KYMO_PROBE_PAGE == window->probed_lo) {
        window->probed_lo = page;
    } else {
        window->probed_lo = page;
        window->probed_hi = page + KYMO_PROBE_PAGE;
    }
    return true;
}

bool kymo_window_probe(struct kymo_stack_window *window, uint64_t address)
{
    if (window->outside) {
        window->missing = window->missing ? window->missing : address;
        return false;
    }
    /* Page 0 and whatever is not a user address are refused without asking. */
    if (address < KYMO_PROBE_PAGE || address > HIGHEST_WORD)
        return false;
    uint64_t first = address & ~(KYMO_PROBE_PAGE - 1);
    uint64_t last = (address + 7) & ~(KYMO_PROBE_PAGE - 1);
    if (!probe_page(window, first) || (last != first && !probe_page(window, last)))
        return false;
    return kymo_window_covers(window, address);
}

#ifndef KYMO_HOT
bool kymo_window_load_code(struct kymo_stack_window *window, uint64_t address, uint64_t *value)
{
    const struct kymo_outside *outside = window->outside;
    if (!outside)
        return kymo_window_load(window, address, value);
    return outside->read_code && outside->read_code(outside->context, address, value);
}
#endif
