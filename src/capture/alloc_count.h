/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_count.h - what each hook of an allocator does around the allocator's own function.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     alloc_hooks.c, alloc_operators.c -> [alloc_count] -> alloc.h
 * Threads:  any
 * Signals:  safe
 *
 * A hook that passes ends in a tail call. One that does not calls begin, the allocator, and end:
 * the frame of the hook is where the program's stack begins.
 */
#ifndef KYMO_CAPTURE_ALLOC_COUNT_H
#define KYMO_CAPTURE_ALLOC_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/attr.h"
#include "buffer/record.h"
#include "capture/alloc.h"
#include "capture/alloc_next.h"
#include "capture/claim.h"

/* Takes so many bytes from the way to this thread's next draw. Returns whether they pass: sizes
 * above PTRDIFF_MAX, which no allocator can give, do not, and kymo_alloc_begin gives them back. */
KYMO_SIGNAL_SAFE KYMO_INLINE int kymo_alloc_passes_bytes(size_t bytes)
{
    int64_t until = (int64_t)((uint64_t)kymo_alloc_self.until - bytes);
    kymo_alloc_self.until = until;
    return kymo_likely((until | (int64_t)bytes) >= 0) != 0;
}

/* The same for one more allocation. */
KYMO_SIGNAL_SAFE KYMO_INLINE int kymo_alloc_passes(size_t bytes)
{
    kymo_alloc_self.count++;
    return kymo_alloc_passes_bytes(bytes);
}

/* Whether an allocation that is given back is surely none that was drawn. */
KYMO_SIGNAL_SAFE KYMO_INLINE int kymo_alloc_free_passes(const void *block)
{
    return kymo_likely(kymo_load_relaxed(kymo_alloc_filter_of((uintptr_t)block)) == 0) != 0;
}

/* Of bytes that did not pass. */
KYMO_SIGNAL_SAFE static inline struct kymo_alloc_draw kymo_alloc_begin(size_t bytes, uint64_t here)
{
    if (kymo_unlikely(bytes > PTRDIFF_MAX)) {
        /* They are not to count. */
        kymo_alloc_self.until = (int64_t)((uint64_t)kymo_alloc_self.until + bytes);
        return (struct kymo_alloc_draw){0, 0};
    }
    return kymo_alloc_draw(bytes, here);
}

/* block: what the allocator gave; NULL: nothing. */
KYMO_SIGNAL_SAFE static inline void kymo_alloc_end(struct kymo_alloc_draw draw, void *block,
                                                   size_t bytes, enum kymo_alloc_family family,
                                                   uint64_t here)
{
    if (draw.is_drawn && block)
        kymo_alloc_note(draw, block, bytes, kymo_alloc_usable(block), family, here);
}

/* ---- alloc_operators.c: the operators of C++ that give and take back memory ---- */

/* An allocation that a trial of an operator takes back: whether that came by free, which says so.
 */
struct kymo_alloc_probe {
    void *block;
    int was_freed;
};
extern struct kymo_alloc_probe kymo_alloc_probed __attribute__((visibility("hidden")));

#endif
