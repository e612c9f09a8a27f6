/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_window.h - which memory a walk may read.
 *
 * Layer:    unwind; above base
 * Flow:     unwind.c, expr.c -> [window] -> the stack
 * Threads:  one walk
 * Signals:  safe
 *
 * Two ranges: `own`, the part of the thread's own stack that is in use, which is known to be
 * mapped, and `probed`, the pages next to each other that were last found readable. A word outside
 * both is probed page by page without faulting: rt_sigprocmask reads the new set before it looks at
 * `how`, so with an invalid `how` it changes nothing and says EFAULT or EINVAL.
 *
 * A walk of another process's stack has a copy of some of it as its one range, and probes nothing.
 *
 * Memory that another thread unmaps between the probe and the read would fault. Only a stack
 * pointer that points neither into the thread's stack nor into a stack that is in use can lead
 * there, or a word on it that is no return address. Code is followed only while no library is being
 * closed.
 */
#ifndef KYMO_UNWIND_STACK_WINDOW_H
#define KYMO_UNWIND_STACK_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/system.h"
#include "base/attr.h"

#define KYMO_PROBES_PER_WALK 64u
#define KYMO_INSTRUCTIONS_PER_WALK 16384u /* some 400 us at most */
#define KYMO_PROBE_PAGE ((uint64_t)KYMO_ARCH_PAGE_BYTES)

struct kymo_outside;

struct kymo_stack_window {
    uint64_t own_lo;
    uint64_t own_hi;
    uint64_t probed_lo;
    uint64_t probed_hi;
    uint64_t bounds_lo; /* of the thread's own stack, 0 if not known */
    uint64_t bounds_hi;
    uint64_t shift;   /* from an address to where it is read: 0, or that of the copy */
    uint64_t missing; /* of a copy: the first address that was not in it, 0: none */
    uint32_t probes_left;
    uint32_t instructions_left; /* of code that may be followed (arch/code_row.h) */
    uint32_t notes;             /* KYMO_WALK_BY_PROBE, KYMO_WALK_PROBE_REFUSED */
    bool probe_allowed;
    const struct kymo_outside *outside; /* whose copy it is; NULL: it is our own stack */
};

/* The walk is now at this stack pointer: if it lies within the bounds, everything from it (and its
 * red zone) upward is in use. */
KYMO_SIGNAL_SAFE void kymo_window_enter(struct kymo_stack_window *window, uint64_t sp);

/* Makes the 8 bytes at address part of the probed range; false if they cannot be read. */
KYMO_SIGNAL_SAFE bool kymo_window_probe(struct kymo_stack_window *window, uint64_t address);

/* Whether the page that holds address can be read, by a system call. */
KYMO_SIGNAL_SAFE bool kymo_page_readable(uint64_t address);

static inline bool kymo_window_is_own(const struct kymo_stack_window *window, uint64_t sp)
{
    return sp - window->own_lo < window->own_hi - window->own_lo;
}

/* Reads memory that the window covers. A walk reads other functions' frames, which AddressSanitizer
 * rightly forbids to everyone else. */
typedef uint64_t kymo_stack_word __attribute__((may_alias, aligned(1)));
__attribute__((no_sanitize("address"))) KYMO_SIGNAL_SAFE static inline uint64_t kymo_window_read(
    uint64_t address)
{
    return *(const kymo_stack_word *)(uintptr_t)address;
}

KYMO_SIGNAL_SAFE static inline bool kymo_window_covers(const struct kymo_stack_window *window,
                                                       uint64_t address)
{
    return (address >= window->own_lo && address < window->own_hi &&
            window->own_hi - address >= 8) ||
           (address >= window->probed_lo && address < window->probed_hi &&
            window->probed_hi - address >= 8);
}

/* Reads one word if that cannot fault. */
KYMO_SIGNAL_SAFE static inline bool kymo_window_load(struct kymo_stack_window *window,
                                                     uint64_t address, uint64_t *value)
{
    if (!kymo_window_covers(window, address) && !kymo_window_probe(window, address))
        return false;
    *value = kymo_window_read(address + window->shift);
    return true;
}

/* Eight bytes of code, if they can be read: of the process whose stack it is. In
 * libkymo-preload.so that is ours. */
#ifdef KYMO_HOT
KYMO_SIGNAL_SAFE static inline bool kymo_window_load_code(struct kymo_stack_window *window,
                                                          uint64_t address, uint64_t *value)
{
    return kymo_window_load(window, address, value);
}
#else
bool kymo_window_load_code(struct kymo_stack_window *window, uint64_t address, uint64_t *value);
#endif

#endif
