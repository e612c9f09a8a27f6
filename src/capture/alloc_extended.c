/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_extended.c - see alloc_extended.h.
 *
 * What is counted, and when, is as in alloc_hooks.c. mimalloc's C++ functions throw: nothing is
 * held while the allocator is at work.
 *
 * mi_heap_destroy frees all allocations of a heap; its caller passes none of their addresses. So
 * mimalloc is asked for them before the call. It may give only the start of the place that holds an
 * allocation. The allocation may then lie anywhere in that place, for its alignment.
 */
#include "capture/alloc_extended.h"

#include <string.h>

#include "capture/alloc_count.h"
#include "capture/alloc_record.h"
#include "capture/alloc_table.h"

enum what {
    GIVE,
    GIVE_MANY,
    GIVE_INTO,
    COPY,
    COPY_SOME,
    COPY_PATH,
    RESIZE,
    RESIZE_MANY,
    RESIZE_AT,
    RESIZE_OR_TAKE,
    STAY,
    EXPAND,
    TAKE,
    TAKE_ALL
};

#define IDENTITY(family, name) family##_##name
enum {
#define NUMBER(name, family, what, at) IDENTITY(family, name),
    KYMO_EXTENDED_FUNCTIONS(NUMBER)
#undef NUMBER
        FUNCTIONS
};

#define PARAMETERS uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f
#define ARGUMENTS a, b, c, d, e, f

static kymo_extended_fn *next[FUNCTIONS];
kymo_extended_usable_fn *kymo_extended_usable[KYMO_EXTENDED_FAMILY_COUNT];
kymo_extended_visit_fn *kymo_extended_visit;

/* A call that is not handed on at once. */
struct call {
    uintptr_t argument[6];
    uint32_t function, family;
    enum what what;
    uint32_t at; /* number of the block's argument, or of the size's */
    uint64_t here;
};

static uintptr_t call_next(const struct call *c)
{
    const uintptr_t *a = c->argument;
    return next[c->function](a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* What malloc_usable_size says is true of the blocks of malloc's own library. */
static size_t usable(const struct call *c, uintptr_t block)
{
    kymo_extended_usable_fn *ask = kymo_extended_usable[c->family];
    if (!ask || kymo_alloc_asks)
        return 0;
    kymo_alloc_asks = 1;
    size_t bytes = ask(block, 0);
    kymo_alloc_asks = 0;
    return bytes;
}

/* What is more than there are numbers fails. */
static size_t product(uintptr_t count, uintptr_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? SIZE_MAX : all;
}

static void note(const struct call *c, struct kymo_alloc_draw draw, uintptr_t block, size_t bytes)
{
    if (draw.is_drawn && block)
        kymo_alloc_note(draw, (void *)block, bytes, usable(c, block), KYMO_ALLOC_EXTENDED, c->here);
}

/* ---- what gives ---- */

static uintptr_t given(const struct call *c, uintptr_t result)
{
    if (c->what == GIVE_INTO || c->what == RESIZE_AT)
        return result == 0 ? *(const uintptr_t *)c->argument[0] : 0;
    return result;
}

static KYMO_NOINLINE uintptr_t give_slowly(const struct call *c, size_t bytes)
{
    struct kymo_alloc_draw draw = kymo_alloc_begin(bytes, c->here);
    uintptr_t result = call_next(c);
    note(c, draw, given(c, result), bytes);
    return result;
}

/* How long it is, is known when it is there; where it goes into room of the caller's own, there is
 * no block. */
static KYMO_NOINLINE uintptr_t give_path(const struct call *c)
{
    uintptr_t result = call_next(c);
    if (result == 0 || c->argument[c->at] != 0)
        return result;
    size_t bytes = strlen((const char *)result) + 1;
    if (!kymo_alloc_passes(bytes))
        note(c, kymo_alloc_begin(bytes, c->here), result, bytes);
    return result;
}

/* ---- what resizes ---- */

static KYMO_NOINLINE uintptr_t resize_new(const struct call *c, size_t bytes)
{
    if (bytes > PTRDIFF_MAX || kymo_alloc_passes(bytes))
        return call_next(c);
    return give_slowly(c, bytes);
}

/* The block is gone, and some allocators give another one. */
static KYMO_NOINLINE uintptr_t resize_to_none(const struct call *c, uintptr_t block)
{
    struct kymo_alloc_draw draw = {0, 0};
    if (!kymo_alloc_free_passes((void *)block))
        kymo_alloc_note_free((void *)block, c->here);
    if (!kymo_alloc_passes(0))
        draw = kymo_alloc_begin(0, c->here);
    uintptr_t result = call_next(c);
    note(c, draw, given(c, result), 0);
    return result;
}

static struct kymo_alloc_draw draw_growth(const struct call *c, size_t bytes, size_t usable_before)
{
    if (bytes > PTRDIFF_MAX || bytes <= usable_before ||
        kymo_alloc_passes_bytes(bytes - usable_before))
        return (struct kymo_alloc_draw){0, 0};
    return kymo_alloc_begin(bytes - usable_before, c->here);
}

static KYMO_NOINLINE uintptr_t resize_block(const struct call *c, uintptr_t block, size_t bytes)
{
    size_t usable_before = usable(c, block);
    struct kymo_alloc_draw draw = draw_growth(c, bytes, usable_before);
    uint64_t id = kymo_alloc_free_passes((void *)block) ? 0 : kymo_alloc_take_out((void *)block);
    uintptr_t result = call_next(c);
    uintptr_t now = given(c, result);
    if (now && (id || draw.is_drawn))
        kymo_alloc_note_resize(draw, id, (void *)now, bytes, usable(c, now), usable_before,
                               c->here);
    else if (!now && id && c->what == RESIZE_OR_TAKE)
        kymo_alloc_end_block(id, c->here);
    else if (!now)
        kymo_alloc_put_back((void *)block, id);
    return result;
}

static KYMO_NOINLINE uintptr_t resize_slowly(const struct call *c, uintptr_t block, size_t bytes)
{
    if (!block)
        return resize_new(c, bytes);
    return bytes == 0 ? resize_to_none(c, block) : resize_block(c, block, bytes);
}

/* In its place, or not at all. Of xallocx, which says how much there is now, anything between size
 * and size and more. */
static KYMO_NOINLINE uintptr_t resize_in_place(const struct call *c)
{
    uintptr_t block = c->argument[0];
    size_t least = c->argument[1];
    size_t usable_before = block ? usable(c, block) : 0;
    uintptr_t result = call_next(c);
    size_t bytes = least;
    if (!block || least == 0 || (c->what == STAY ? result < least : result != block))
        return result;
    if (c->what == STAY && __builtin_add_overflow(least, c->argument[2], &bytes))
        bytes = SIZE_MAX;
    if (c->what == STAY && bytes > result)
        bytes = result;
    struct kymo_alloc_draw draw = draw_growth(c, bytes, usable_before);
    uint64_t id = kymo_alloc_free_passes((void *)block) ? 0 : kymo_alloc_take_out((void *)block);
    if (id || draw.is_drawn)
        kymo_alloc_note_resize(draw, id, (void *)block, bytes, usable(c, block), usable_before,
                               c->here);
    return result;
}

/* ---- what takes ---- */

enum { GRANULE = 64, LEAST_ALIGNMENT = 8 };

/* Blocks that were drawn and begin in [at, at + bytes). */
static int take_within(const void *heap, const void *area, void *block, uintptr_t bytes,
                       void *context)
{
    const struct call *c = context;
    uintptr_t at = (uintptr_t)block;
    uintptr_t end = at + bytes;
    (void)heap;
    (void)area;
    while (block && at < end) {
        uintptr_t behind = (at | (GRANULE - 1)) + 1;
        if (behind > end)
            behind = end;
        if (!kymo_alloc_free_passes((void *)at))
            for (; at < behind; at += LEAST_ALIGNMENT)
                kymo_alloc_note_free((void *)at, c->here);
        at = behind;
    }
    return 1;
}

static KYMO_NOINLINE uintptr_t take_all(struct call *c)
{
    if (kymo_extended_visit && c->argument[0])
        (void)kymo_extended_visit((const void *)c->argument[0], 1, take_within, c);
    return call_next(c);
}

/* ---- the hooks ---- */

#define MAKE_CALL(number, family, what, at)                       \
    {                                                             \
        {ARGUMENTS}, number, family, what, at, KYMO_FRAME_BEGIN() \
    }

#define PASS_OR_GIVE(bytes, number, family, what, at)            \
    do {                                                         \
        size_t bytes_ = (bytes);                                 \
        if (bytes_ > PTRDIFF_MAX || kymo_alloc_passes(bytes_))   \
            return next[number](ARGUMENTS);                      \
        struct call call_ = MAKE_CALL(number, family, what, at); \
        return give_slowly(&call_, bytes_);                      \
    } while (0)

#define HOOK_GIVE(n, family, at) PASS_OR_GIVE((at) ? b : a, n, family, GIVE, at)
#define HOOK_GIVE_MANY(n, family, at) \
    PASS_OR_GIVE((at) ? product(b, c) : product(a, b), n, family, GIVE_MANY, at)
#define HOOK_GIVE_INTO(n, family, at) PASS_OR_GIVE(c, n, family, GIVE_INTO, at)
/* A copy of nothing is nothing. */
#define HOOK_COPY(n, family, at)                                                     \
    do {                                                                             \
        if (!((at) ? b : a))                                                         \
            return next[n](ARGUMENTS);                                               \
        PASS_OR_GIVE(strlen((const char *)((at) ? b : a)) + 1, n, family, COPY, at); \
    } while (0)
#define HOOK_COPY_SOME(n, family, at)                                                          \
    do {                                                                                       \
        if (!((at) ? b : a))                                                                   \
            return next[n](ARGUMENTS);                                                         \
        PASS_OR_GIVE(strnlen((const char *)((at) ? b : a), (at) ? c : b) + 1, n, family, COPY, \
                     at);                                                                      \
    } while (0)
#define HOOK_COPY_PATH(n, family, at)                        \
    struct call call_ = MAKE_CALL(n, family, COPY_PATH, at); \
    return give_path(&call_)
#define HOOK_RESIZE_AS(n, family, what, at, block, bytes) \
    struct call call_ = MAKE_CALL(n, family, what, at);   \
    return resize_slowly(&call_, block, bytes)
#define HOOK_RESIZE(n, family, at) HOOK_RESIZE_AS(n, family, RESIZE, at, (at) ? b : a, (at) ? c : b)
#define HOOK_RESIZE_MANY(n, family, at) \
    HOOK_RESIZE_AS(n, family, RESIZE_MANY, at, (at) ? b : a, (at) ? product(c, d) : product(b, c))
#define HOOK_RESIZE_OR_TAKE(n, family, at) \
    HOOK_RESIZE_AS(n, family, RESIZE_OR_TAKE, at, (at) ? b : a, (at) ? c : b)
#define HOOK_RESIZE_AT(n, family, at)                                                   \
    do {                                                                                \
        if (!a)                                                                         \
            return next[n](ARGUMENTS);                                                  \
        HOOK_RESIZE_AS(n, family, RESIZE_AT, at, *(const uintptr_t *)a, product(b, c)); \
    } while (0)
#define HOOK_IN_PLACE(n, family, what, at)              \
    struct call call_ = MAKE_CALL(n, family, what, at); \
    return resize_in_place(&call_)
#define HOOK_STAY(n, family, at) HOOK_IN_PLACE(n, family, STAY, at)
#define HOOK_EXPAND(n, family, at) HOOK_IN_PLACE(n, family, EXPAND, at)
#define HOOK_TAKE(n, family, at)                                 \
    do {                                                         \
        if (!kymo_alloc_free_passes((void *)a))                  \
            kymo_alloc_note_free((void *)a, KYMO_FRAME_BEGIN()); \
        return next[n](ARGUMENTS);                               \
    } while (0)
#define HOOK_TAKE_ALL(n, family, at)                        \
    struct call call_ = MAKE_CALL(n, family, TAKE_ALL, at); \
    return take_all(&call_)

#define DEFINE(name, family, what, at)                             \
    static uintptr_t IDENTITY(extended_##family, name)(PARAMETERS) \
    {                                                              \
        HOOK_##what(IDENTITY(family, name), family, at);           \
    }
KYMO_EXTENDED_FUNCTIONS(DEFINE)
#undef DEFINE

const struct kymo_extended_function kymo_extended_functions[] = {
#define ENTRY(name, family, what, at) \
    {#name, family, IDENTITY(extended_##family, name), &next[IDENTITY(family, name)]},
    KYMO_EXTENDED_FUNCTIONS(ENTRY)
#undef ENTRY
};
const uint32_t kymo_extended_count = FUNCTIONS;
