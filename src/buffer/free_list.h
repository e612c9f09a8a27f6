/* SPDX-License-Identifier: Apache-2.0 */
/*
 * free_list.h - the last-in first-out list of free slots and blocks, shared by two processes.
 *
 * Layer:    buffer
 * Flow:     the program pops, the recorder pushes back what it has drained
 * Threads:  any number on both sides, lock-free
 * Memory:   heads and links lie in the session
 * Signals:  safe
 *
 * A head is {tag, number + 1}: the tag changes with every operation, so that a pop which slept
 * through a pop and a push of the same number does not succeed (ABA). A link of 0 means "the
 * number behind mine": a list of untouched zero pages is a full list. Numbers are bounded on each
 * read, since the program may have scribbled over them.
 */
#ifndef KYMO_BUFFER_FREE_LIST_H
#define KYMO_BUFFER_FREE_LIST_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/attr.h"

#define KYMO_FREE_LIST_END 0xffffffffu

/* Where number's link lies. */
typedef uint32_t *(*kymo_free_link)(void *context, uint32_t number);

/* Takes a number in [first, first + count); returns number + 1, or 0 when none is free. */
KYMO_SIGNAL_SAFE static inline uint32_t kymo_free_pop(uint64_t *head, uint32_t first,
                                                      uint32_t count, kymo_free_link link,
                                                      void *context)
{
    uint64_t old = kymo_load_acquire(head);
    for (;;) {
        uint32_t number = (uint32_t)old - 1; /* an empty or broken head is out of bounds */
        if (number < first || number - first >= count)
            return 0;
        uint32_t next = kymo_load_relaxed(link(context, number));
        if (next == 0)
            next = number + 1 - first < count ? number + 2 : KYMO_FREE_LIST_END;
        uint64_t new_head = ((old >> 32) + 1) << 32 | next;
        /* Pairs with the release of a push: what the other side wrote to the block is seen. */
        if (kymo_cas_acq_rel(head, &old, new_head))
            return number + 1;
        kymo_cpu_relax();
    }
}

KYMO_SIGNAL_SAFE static inline void kymo_free_push(uint64_t *head, uint32_t number,
                                                   kymo_free_link link, void *context)
{
    uint64_t old = kymo_load_acquire(head);
    for (;;) {
        uint32_t next = (uint32_t)old;
        kymo_store_relaxed(link(context, number), next ? next : KYMO_FREE_LIST_END);
        uint64_t new_head = ((old >> 32) + 1) << 32 | (number + 1);
        if (kymo_cas_acq_rel(head, &old, new_head))
            return;
        kymo_cpu_relax();
    }
}

#endif
