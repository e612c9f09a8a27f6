/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_hooks.c - the C functions that give, resize and take back memory.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     the program's call -> [alloc_hooks] -> alloc_count.h, alloc_next.h
 * Threads:  any, from the first instruction of the process on
 * Signals:  as safe as the allocator's own
 *
 * malloc and free are what a program calls most: a subtraction and a branch, a load and a branch,
 * and a jump. Everything else is in functions of their own.
 *
 * What an allocation that grows takes from the way to the next draw is what it grows by beyond what
 * it could hold already: so the sum over an allocation's life is its size, whatever steps it came
 * in. Where the allocator does not say what it can hold, that is 0, and all estimates hold, too.
 */
#include <malloc.h>
#include <stdlib.h>

#include "capture/alloc_count.h"
#include "capture/hooks.h"

/* Functions of a size: their hook, and what it does with a size that does not pass. */
#define HOOK_OF_SIZE(name, family)                                                  \
    static KYMO_NOINLINE void *name##_slowly(size_t bytes, uint64_t here)           \
    {                                                                               \
        struct kymo_alloc_draw draw = kymo_alloc_begin(bytes, here);                \
        void *block = kymo_next.name(bytes);                                        \
        kymo_alloc_end(draw, block, bytes, family, here);                           \
        return block;                                                               \
    }                                                                               \
    KYMO_HOOK void *name(size_t bytes)                                              \
    {                                                                               \
        return kymo_alloc_passes(bytes) ? kymo_next.name(bytes)                     \
                                        : name##_slowly(bytes, KYMO_FRAME_BEGIN()); \
    }
HOOK_OF_SIZE(malloc, KYMO_ALLOC_MALLOC)
HOOK_OF_SIZE(valloc, KYMO_ALLOC_ALIGNED)
HOOK_OF_SIZE(pvalloc, KYMO_ALLOC_ALIGNED)

#define HOOK_OF_ALIGNMENT(name)                                                            \
    static KYMO_NOINLINE void *name##_slowly(size_t align, size_t bytes, uint64_t here)    \
    {                                                                                      \
        struct kymo_alloc_draw draw = kymo_alloc_begin(bytes, here);                       \
        void *block = kymo_next.name(align, bytes);                                        \
        kymo_alloc_end(draw, block, bytes, KYMO_ALLOC_ALIGNED, here);                      \
        return block;                                                                      \
    }                                                                                      \
    KYMO_HOOK void *name(size_t align, size_t bytes)                                       \
    {                                                                                      \
        return kymo_alloc_passes(bytes) ? kymo_next.name(align, bytes)                     \
                                        : name##_slowly(align, bytes, KYMO_FRAME_BEGIN()); \
    }
HOOK_OF_ALIGNMENT(aligned_alloc)
HOOK_OF_ALIGNMENT(memalign)

static KYMO_NOINLINE int posix_memalign_slowly(void **block, size_t align, size_t bytes,
                                               uint64_t here)
{
    struct kymo_alloc_draw draw = kymo_alloc_begin(bytes, here);
    int result = kymo_next.posix_memalign(block, align, bytes);
    if (result == 0)
        kymo_alloc_end(draw, *block, bytes, KYMO_ALLOC_ALIGNED, here);
    return result;
}

KYMO_HOOK int posix_memalign(void **block, size_t align, size_t bytes)
{
    return kymo_alloc_passes(bytes)
               ? kymo_next.posix_memalign(block, align, bytes)
               : posix_memalign_slowly(block, align, bytes, KYMO_FRAME_BEGIN());
}

static KYMO_NOINLINE void *calloc_slowly(size_t count, size_t bytes, uint64_t here)
{
    struct kymo_alloc_draw draw = kymo_alloc_begin(count * bytes, here);
    void *block = kymo_next.calloc(count, bytes);
    kymo_alloc_end(draw, block, count * bytes, KYMO_ALLOC_CALLOC, here);
    return block;
}

KYMO_HOOK void *calloc(size_t count, size_t bytes)
{
    size_t all;
    /* What is more than there are numbers fails. */
    if (kymo_unlikely(__builtin_mul_overflow(count, bytes, &all)) || kymo_alloc_passes(all))
        return kymo_next.calloc(count, bytes);
    return calloc_slowly(count, bytes, KYMO_FRAME_BEGIN());
}

/* ---- realloc ---- */

static KYMO_NOINLINE void *realloc_new_slowly(size_t bytes, uint64_t here)
{
    struct kymo_alloc_draw draw = kymo_alloc_begin(bytes, here);
    void *block = kymo_next.realloc(NULL, bytes);
    kymo_alloc_end(draw, block, bytes, KYMO_ALLOC_REALLOC, here);
    return block;
}

/* To no bytes: the allocation is gone, and some allocators give another one. */
static KYMO_NOINLINE void *realloc_to_none(void *block, uint64_t here)
{
    if (!kymo_alloc_free_passes(block))
        kymo_alloc_note_free(block, here);
    struct kymo_alloc_draw draw = {0, 0};
    if (!kymo_alloc_passes(0))
        draw = kymo_alloc_begin(0, here);
    void *other = kymo_next.realloc(block, 0);
    kymo_alloc_end(draw, other, 0, KYMO_ALLOC_REALLOC, here);
    return other;
}

/* Out of the table before another thread can get the address; back if it stays where it is. */
static KYMO_NOINLINE void *realloc_slowly(void *block, size_t bytes, size_t usable_before,
                                          uint64_t here)
{
    struct kymo_alloc_draw draw = {0, 0};
    if (bytes > usable_before && (kymo_alloc_self.until < 0 || bytes - usable_before > PTRDIFF_MAX))
        draw = kymo_alloc_begin(bytes - usable_before, here);
    uint64_t id = kymo_alloc_free_passes(block) ? 0 : kymo_alloc_take_out(block);
    void *moved = kymo_next.realloc(block, bytes);
    if (!moved && id)
        kymo_alloc_put_back(block, id);
    if (moved && (id || draw.is_drawn))
        kymo_alloc_note_resize(draw, id, moved, bytes, kymo_alloc_usable(moved), usable_before,
                               here);
    return moved;
}

KYMO_HOOK void *realloc(void *block, size_t bytes)
{
    if (!block)
        return kymo_alloc_passes(bytes) ? kymo_next.realloc(NULL, bytes)
                                        : realloc_new_slowly(bytes, KYMO_FRAME_BEGIN());
    if (kymo_unlikely(bytes == 0))
        return realloc_to_none(block, KYMO_FRAME_BEGIN());
    size_t usable = kymo_alloc_usable(block);
    if (kymo_alloc_passes_bytes(bytes > usable ? bytes - usable : 0) &&
        kymo_alloc_free_passes(block))
        return kymo_next.realloc(block, bytes);
    return realloc_slowly(block, bytes, usable, KYMO_FRAME_BEGIN());
}

/* Does the same as in every allocator: checks the product and calls realloc. The C library's
 * reallocarray calls realloc by its symbol. Other allocators do it internally, which our hooks
 * would not see. */
KYMO_HOOK void *reallocarray(void *block, size_t count, size_t bytes)
{
    size_t all;
    if (kymo_unlikely(__builtin_mul_overflow(count, bytes, &all)))
        return kymo_next.reallocarray(block, count, bytes);
    return realloc(block, all);
}

/* ---- free ---- */

static KYMO_NOINLINE void free_slowly(void *block, uint64_t here)
{
    if (kymo_unlikely(block == kymo_alloc_probed.block))
        kymo_alloc_probed.was_freed = 1;
    kymo_alloc_note_free(block, here);
    kymo_next.free(block);
}

KYMO_HOOK void free(void *block)
{
    if (kymo_alloc_free_passes(block))
        kymo_next.free(block);
    else
        free_slowly(block, KYMO_FRAME_BEGIN());
}
