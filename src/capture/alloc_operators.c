/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_operators.c - see alloc_count.h.
 *
 * Who gives memory to `new`? In most programs libstdc++, which calls malloc by its symbol: that is
 * ours and counts, and the operator is only handed on. Other allocators bring their own operators.
 * Some of these call no C function; some call one for certain forms, or only when memory runs out.
 * So each operator is tried once, before the program begins, and what our C functions did not see
 * of it is counted here. Until then, and where the executable defines operators itself, all calls
 * are only handed on.
 *
 * A program in C has no operators to hand on to; but what it loads later may be written in C++ and
 * finds ours. These do what the language asks for. When there is no memory, which is for the
 * program's own handler or an exception, they find the real one, wherever it was loaded.
 *
 * An exception may pass any of these functions: they hold nothing meanwhile.
 *
 * All have one type here, that of the operator with the most parameters. A parameter that the
 * caller did not pass is a register that the operator does not read.
 */
#include <stdlib.h>

#include "capture/alloc_count.h"
#include "capture/alloc_words.h"
#include "capture/hooks.h"

struct kymo_alloc_probe kymo_alloc_probed;

typedef void *new_fn(size_t bytes, uintptr_t second, uintptr_t third);
typedef void delete_fn(void *block, uintptr_t second, uintptr_t third);

/* X(name, symbol, what it is where there is none, second and third argument of a trial, family) */
#define NEW_OPERATORS(X)                                                                       \
    X(new, "_Znwm", own_new, 0, 0, KYMO_ALLOC_NEW)                                             \
    X(array, "_Znam", own_new, 0, 0, KYMO_ALLOC_NEW_ARRAY)                                     \
    X(nothrow, "_ZnwmRKSt9nothrow_t", own_nothrow, TAG, 0, KYMO_ALLOC_NEW)                     \
    X(array_nothrow, "_ZnamRKSt9nothrow_t", own_nothrow, TAG, 0, KYMO_ALLOC_NEW_ARRAY)         \
    X(aligned, "_ZnwmSt11align_val_t", own_aligned, ALIGN, 0, KYMO_ALLOC_NEW)                  \
    X(array_aligned, "_ZnamSt11align_val_t", own_aligned, ALIGN, 0, KYMO_ALLOC_NEW_ARRAY)      \
    X(aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", own_aligned_nothrow, ALIGN, TAG,  \
      KYMO_ALLOC_NEW)                                                                          \
    X(array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", own_aligned_nothrow, ALIGN, \
      TAG, KYMO_ALLOC_NEW_ARRAY)

/* X(name, symbol, the new that it takes back from, second and third argument of a trial) */
#define DELETE_OPERATORS(X)                                                                    \
    X(one, "_ZdlPv", new, 0, 0)                                                                \
    X(all, "_ZdaPv", array, 0, 0)                                                              \
    X(one_sized, "_ZdlPvm", new, BYTES, 0)                                                     \
    X(all_sized, "_ZdaPvm", array, BYTES, 0)                                                   \
    X(one_nothrow, "_ZdlPvRKSt9nothrow_t", nothrow, TAG, 0)                                    \
    X(all_nothrow, "_ZdaPvRKSt9nothrow_t", array_nothrow, TAG, 0)                              \
    X(one_aligned, "_ZdlPvSt11align_val_t", aligned, ALIGN, 0)                                 \
    X(all_aligned, "_ZdaPvSt11align_val_t", array_aligned, ALIGN, 0)                           \
    X(one_sized_aligned, "_ZdlPvmSt11align_val_t", aligned, BYTES, ALIGN)                      \
    X(all_sized_aligned, "_ZdaPvmSt11align_val_t", array_aligned, BYTES, ALIGN)                \
    X(one_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", aligned_nothrow, ALIGN, TAG) \
    X(all_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", array_aligned_nothrow, ALIGN, TAG)

enum { BYTES = 64, ALIGN = 64 };
#define TAG ((uintptr_t)&kymo_alloc_probed) /* std::nothrow: its address is never read */

enum {
#define NUMBER(name, ...) NEW_##name,
    NEW_OPERATORS(NUMBER)
#undef NUMBER
        NEWS
};
enum {
#define NUMBER(name, ...) DELETE_##name,
    DELETE_OPERATORS(NUMBER)
#undef NUMBER
        DELETES
};

static void find_operators(void);

/* ---- where there are none ---- */

static void *ask_real_one(const char *symbol, size_t bytes, uintptr_t second, uintptr_t third)
{
    new_fn *real = (new_fn *)(uintptr_t)kymo_alloc_next_symbol(symbol, 1);
    return real ? real(bytes, second, third) : NULL;
}

static void *own_nothrow(size_t bytes, uintptr_t second, uintptr_t third)
{
    void *block = malloc(bytes ? bytes : 1);
    return block ? block : ask_real_one("_ZnwmRKSt9nothrow_t", bytes, second, third);
}

static void *own_aligned_nothrow(size_t bytes, uintptr_t align, uintptr_t third)
{
    size_t whole = (bytes + align - 1) & ~(align - 1);
    void *block = whole < bytes ? NULL : aligned_alloc(align, whole ? whole : align);
    return block ? block : ask_real_one("_ZnwmSt11align_val_tRKSt9nothrow_t", bytes, align, third);
}

/* These throw or end the program: their callers do not look. */
static void *own_new(size_t bytes, uintptr_t second, uintptr_t third)
{
    void *block = malloc(bytes ? bytes : 1);
    if (!block)
        block = ask_real_one("_Znwm", bytes, second, third);
    if (!block)
        abort();
    return block;
}

static void *own_aligned(size_t bytes, uintptr_t align, uintptr_t third)
{
    size_t whole = (bytes + align - 1) & ~(align - 1);
    void *block = whole < bytes ? NULL : aligned_alloc(align, whole ? whole : align);
    if (!block)
        block = ask_real_one("_ZnwmSt11align_val_t", bytes, align, third);
    if (!block)
        abort();
    return block;
}

static void own_delete(void *block, uintptr_t second, uintptr_t third)
{
    (void)second;
    (void)third;
    free(block);
}

/* ---- the operators ---- */

/* What would be called without us, and what is called instead: that, or what counts, or our own. */
static new_fn *next_new[NEWS];
static delete_fn *next_delete[DELETES];
static new_fn *called_new[NEWS];
static delete_fn *called_delete[DELETES];

#define DEFINE(name, symbol, own, second_of_trial, third_of_trial, family)                       \
    static void *first_##name(size_t bytes, uintptr_t second, uintptr_t third)                   \
    {                                                                                            \
        find_operators();                                                                        \
        return called_new[NEW_##name](bytes, second, third);                                     \
    }                                                                                            \
    static KYMO_NOINLINE void *slow_##name(size_t bytes, uintptr_t second, uintptr_t third,      \
                                           uint64_t here)                                        \
    {                                                                                            \
        struct kymo_alloc_draw draw = kymo_alloc_begin(bytes, here);                             \
        void *block = next_new[NEW_##name](bytes, second, third);                                \
        kymo_alloc_end(draw, block, bytes, family, here);                                        \
        return block;                                                                            \
    }                                                                                            \
    static void *counted_##name(size_t bytes, uintptr_t second, uintptr_t third)                 \
    {                                                                                            \
        return kymo_alloc_passes(bytes) ? next_new[NEW_##name](bytes, second, third)             \
                                        : slow_##name(bytes, second, third, KYMO_FRAME_BEGIN()); \
    }                                                                                            \
    KYMO_HOOK void *kymo_operator_##name(size_t bytes, uintptr_t second,                         \
                                         uintptr_t third) __asm__(symbol);                       \
    void *kymo_operator_##name(size_t bytes, uintptr_t second, uintptr_t third)                  \
    {                                                                                            \
        return called_new[NEW_##name](bytes, second, third);                                     \
    }
NEW_OPERATORS(DEFINE)
#undef DEFINE

#define DEFINE(name, symbol, made_by, second_of_trial, third_of_trial)         \
    static void first_##name(void *block, uintptr_t second, uintptr_t third)   \
    {                                                                          \
        find_operators();                                                      \
        called_delete[DELETE_##name](block, second, third);                    \
    }                                                                          \
    static void counted_##name(void *block, uintptr_t second, uintptr_t third) \
    {                                                                          \
        if (!kymo_alloc_free_passes(block))                                    \
            kymo_alloc_note_free(block, KYMO_FRAME_BEGIN());                   \
        next_delete[DELETE_##name](block, second, third);                      \
    }                                                                          \
    KYMO_HOOK void kymo_operator_##name(void *block, uintptr_t second,         \
                                        uintptr_t third) __asm__(symbol);      \
    void kymo_operator_##name(void *block, uintptr_t second, uintptr_t third)  \
    {                                                                          \
        called_delete[DELETE_##name](block, second, third);                    \
    }
DELETE_OPERATORS(DEFINE)
#undef DEFINE

static new_fn *called_new[NEWS] = {
#define FIRST(name, ...) [NEW_##name] = first_##name,
    NEW_OPERATORS(FIRST)
#undef FIRST
};
static delete_fn *called_delete[DELETES] = {
#define FIRST(name, ...) [DELETE_##name] = first_##name,
    DELETE_OPERATORS(FIRST)
#undef FIRST
};

static void find_operators(void)
{
#define FIND(name, symbol, own, ...)                                               \
    next_new[NEW_##name] = (new_fn *)(uintptr_t)kymo_alloc_next_symbol(symbol, 0); \
    kymo_store_relaxed(&called_new[NEW_##name], next_new[NEW_##name] ? next_new[NEW_##name] : own);
    NEW_OPERATORS(FIND)
#undef FIND
#define FIND(name, symbol, ...)                                                             \
    next_delete[DELETE_##name] = (delete_fn *)(uintptr_t)kymo_alloc_next_symbol(symbol, 0); \
    kymo_store_relaxed(&called_delete[DELETE_##name],                                       \
                       next_delete[DELETE_##name] ? next_delete[DELETE_##name] : own_delete);
    DELETE_OPERATORS(FIND)
#undef FIND
}

/* ---- who counts ---- */

static new_fn *const counting_new[NEWS] = {
#define COUNTED(name, ...) [NEW_##name] = counted_##name,
    NEW_OPERATORS(COUNTED)
#undef COUNTED
};
static delete_fn *const counting_delete[DELETES] = {
#define COUNTED(name, ...) [DELETE_##name] = counted_##name,
    DELETE_OPERATORS(COUNTED)
#undef COUNTED
};
static const struct {
    uintptr_t second, third;
} new_trials[NEWS] = {
#define TRIAL(name, symbol, own, second, third, family) [NEW_##name] = {second, third},
    NEW_OPERATORS(TRIAL)
#undef TRIAL
};
static const struct {
    int made_by;
    uintptr_t second, third;
} delete_trials[DELETES] = {
#define TRIAL(name, symbol, made_by, second, third) \
    [DELETE_##name] = {NEW_##made_by, second, third},
    DELETE_OPERATORS(TRIAL)
#undef TRIAL
};

/* Takes an allocation and gives it back; what no C function saw of that is counted from now on.
 * Nothing is drawn meanwhile. */
static void try_pair(int made_by, int i)
{
    uint64_t count = kymo_alloc_self.count;
    int64_t until = kymo_alloc_self.until;
    kymo_alloc_self.until = KYMO_ALLOC_NEVER;
    void *block = next_new[made_by](BYTES, new_trials[made_by].second, new_trials[made_by].third);
    kymo_alloc_self.until = until;
    if (!block)
        return;
    if (kymo_alloc_self.count == count)
        kymo_store_relaxed(&called_new[made_by], counting_new[made_by]);
    kymo_alloc_self.count = count; /* the block is not the program's */
    uint8_t *filter = kymo_alloc_filter_of((uintptr_t)block);
    uint8_t before = kymo_load_relaxed(filter);
    kymo_alloc_probed = (struct kymo_alloc_probe){block, 0};
    kymo_store_relaxed(filter, (uint8_t)(before | 1));
    next_delete[i](block, delete_trials[i].second, delete_trials[i].third);
    kymo_store_relaxed(filter, before);
    kymo_alloc_probed.block = NULL;
    if (!kymo_alloc_probed.was_freed)
        kymo_store_relaxed(&called_delete[i], counting_delete[i]);
}

static int program_has_operators(void)
{
#define LOOK(name, symbol, ...) || kymo_alloc_next_is_program(symbol)
    return 0 NEW_OPERATORS(LOOK) DELETE_OPERATORS(LOOK);
#undef LOOK
}

/* Before the constructor that attaches: nothing of this is recorded. */
__attribute__((constructor(101))) static void choose(void)
{
    kymo_alloc_allocator = kymo_alloc_next_allocator();
    kymo_alloc_words_from.allocator = kymo_alloc_allocator;
    kymo_alloc_words_from.function = kymo_alloc_next_words(kymo_alloc_allocator);
    find_operators();
    /* Those of the executable may not be ready yet. */
    if (program_has_operators())
        return;
    /* A trial that fails would throw. */
    void *room = kymo_next.malloc(BYTES * DELETES);
    if (!room)
        return;
    kymo_next.free(room);
    for (int i = 0; i < DELETES; i++)
        if (next_delete[i] && next_new[delete_trials[i].made_by])
            try_pair(delete_trials[i].made_by, i);
}
