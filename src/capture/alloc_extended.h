/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_extended.h - the functions that allocators have beside those of the C library.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     alloc_patch.c (who calls which) -> [alloc_extended] -> alloc_count.h
 * Threads:  any
 * Memory:   none
 * Signals:  as safe as the allocator's own
 *
 * Programs ask whether there is a mallocx to find out which allocator they have. So none of these
 * names is exported: a call comes here because the caller's own table of addresses says so
 * (alloc_patch.c).
 */
#ifndef KYMO_CAPTURE_ALLOC_EXTENDED_H
#define KYMO_CAPTURE_ALLOC_EXTENDED_H

#include <stdint.h>

#include "base/attr.h"

/* X(name, family, what it does, number of the argument that the block or the size is)
 *
 *   GIVE            the size; GIVE_MANY: count and size; GIVE_INTO: what posix_memalign does
 *   COPY            a text; COPY_SOME: a text and how much of it; COPY_PATH: its length is known
 *                   when it is there
 *   RESIZE          block and size; RESIZE_MANY: block, count and size; RESIZE_AT: where the block
 *                   is written, count and size; RESIZE_OR_TAKE: what fails takes the block
 *   STAY            xallocx: block, size, more; EXPAND: block and size
 *   TAKE            the block; TAKE_ALL: a heap with all that is in it
 */
#define KYMO_EXTENDED_JEMALLOC(X, family, prefix) \
    X(prefix##mallocx, family, GIVE, 0)           \
    X(prefix##rallocx, family, RESIZE, 0)         \
    X(prefix##xallocx, family, STAY, 0)           \
    X(prefix##dallocx, family, TAKE, 0)           \
    X(prefix##sdallocx, family, TAKE, 0)

/* What a jemalloc has that was built with a prefix. */
#define KYMO_EXTENDED_PREFIXED(X, family, prefix)   \
    KYMO_EXTENDED_JEMALLOC(X, family, prefix)       \
    X(prefix##malloc, family, GIVE, 0)              \
    X(prefix##calloc, family, GIVE_MANY, 0)         \
    X(prefix##realloc, family, RESIZE, 0)           \
    X(prefix##free, family, TAKE, 0)                \
    X(prefix##posix_memalign, family, GIVE_INTO, 0) \
    X(prefix##aligned_alloc, family, GIVE, 1)       \
    X(prefix##memalign, family, GIVE, 1)            \
    X(prefix##valloc, family, GIVE, 0)

#define KYMO_EXTENDED_TCMALLOC(X, family)              \
    X(tc_malloc, family, GIVE, 0)                      \
    X(tc_malloc_skip_new_handler, family, GIVE, 0)     \
    X(tc_calloc, family, GIVE_MANY, 0)                 \
    X(tc_realloc, family, RESIZE, 0)                   \
    X(tc_free, family, TAKE, 0)                        \
    X(tc_free_sized, family, TAKE, 0)                  \
    X(tc_cfree, family, TAKE, 0)                       \
    X(tc_memalign, family, GIVE, 1)                    \
    X(tc_posix_memalign, family, GIVE_INTO, 0)         \
    X(tc_valloc, family, GIVE, 0)                      \
    X(tc_pvalloc, family, GIVE, 0)                     \
    X(tc_new, family, GIVE, 0)                         \
    X(tc_new_nothrow, family, GIVE, 0)                 \
    X(tc_new_aligned, family, GIVE, 0)                 \
    X(tc_new_aligned_nothrow, family, GIVE, 0)         \
    X(tc_newarray, family, GIVE, 0)                    \
    X(tc_newarray_nothrow, family, GIVE, 0)            \
    X(tc_newarray_aligned, family, GIVE, 0)            \
    X(tc_newarray_aligned_nothrow, family, GIVE, 0)    \
    X(tc_delete, family, TAKE, 0)                      \
    X(tc_delete_nothrow, family, TAKE, 0)              \
    X(tc_delete_sized, family, TAKE, 0)                \
    X(tc_delete_aligned, family, TAKE, 0)              \
    X(tc_delete_aligned_nothrow, family, TAKE, 0)      \
    X(tc_delete_sized_aligned, family, TAKE, 0)        \
    X(tc_deletearray, family, TAKE, 0)                 \
    X(tc_deletearray_nothrow, family, TAKE, 0)         \
    X(tc_deletearray_sized, family, TAKE, 0)           \
    X(tc_deletearray_aligned, family, TAKE, 0)         \
    X(tc_deletearray_aligned_nothrow, family, TAKE, 0) \
    X(tc_deletearray_sized_aligned, family, TAKE, 0)

#define KYMO_EXTENDED_MIMALLOC(X, family)                  \
    X(mi_malloc, family, GIVE, 0)                          \
    X(mi_malloc_small, family, GIVE, 0)                    \
    X(mi_zalloc, family, GIVE, 0)                          \
    X(mi_zalloc_small, family, GIVE, 0)                    \
    X(mi_calloc, family, GIVE_MANY, 0)                     \
    X(mi_mallocn, family, GIVE_MANY, 0)                    \
    X(mi_malloc_aligned, family, GIVE, 0)                  \
    X(mi_malloc_aligned_at, family, GIVE, 0)               \
    X(mi_zalloc_aligned, family, GIVE, 0)                  \
    X(mi_zalloc_aligned_at, family, GIVE, 0)               \
    X(mi_calloc_aligned, family, GIVE_MANY, 0)             \
    X(mi_calloc_aligned_at, family, GIVE_MANY, 0)          \
    X(mi_memalign, family, GIVE, 1)                        \
    X(mi_aligned_alloc, family, GIVE, 1)                   \
    X(mi_posix_memalign, family, GIVE_INTO, 0)             \
    X(mi_valloc, family, GIVE, 0)                          \
    X(mi_pvalloc, family, GIVE, 0)                         \
    X(mi_new, family, GIVE, 0)                             \
    X(mi_new_nothrow, family, GIVE, 0)                     \
    X(mi_new_aligned, family, GIVE, 0)                     \
    X(mi_new_aligned_nothrow, family, GIVE, 0)             \
    X(mi_new_n, family, GIVE_MANY, 0)                      \
    X(mi_strdup, family, COPY, 0)                          \
    X(mi_strndup, family, COPY_SOME, 0)                    \
    X(mi_realpath, family, COPY_PATH, 1)                   \
    X(mi_realloc, family, RESIZE, 0)                       \
    X(mi_reallocn, family, RESIZE_MANY, 0)                 \
    X(mi_reallocarray, family, RESIZE_MANY, 0)             \
    X(mi_reallocarr, family, RESIZE_AT, 0)                 \
    X(mi_reallocf, family, RESIZE_OR_TAKE, 0)              \
    X(mi_rezalloc, family, RESIZE, 0)                      \
    X(mi_recalloc, family, RESIZE_MANY, 0)                 \
    X(mi_realloc_aligned, family, RESIZE, 0)               \
    X(mi_realloc_aligned_at, family, RESIZE, 0)            \
    X(mi_rezalloc_aligned, family, RESIZE, 0)              \
    X(mi_rezalloc_aligned_at, family, RESIZE, 0)           \
    X(mi_recalloc_aligned, family, RESIZE_MANY, 0)         \
    X(mi_recalloc_aligned_at, family, RESIZE_MANY, 0)      \
    X(mi_aligned_recalloc, family, RESIZE_MANY, 0)         \
    X(mi_aligned_offset_recalloc, family, RESIZE_MANY, 0)  \
    X(mi_new_realloc, family, RESIZE, 0)                   \
    X(mi_new_reallocn, family, RESIZE_MANY, 0)             \
    X(mi_expand, family, EXPAND, 0)                        \
    X(mi_free, family, TAKE, 0)                            \
    X(mi_cfree, family, TAKE, 0)                           \
    X(mi_free_size, family, TAKE, 0)                       \
    X(mi_free_size_aligned, family, TAKE, 0)               \
    X(mi_free_aligned, family, TAKE, 0)                    \
    X(mi_heap_malloc, family, GIVE, 1)                     \
    X(mi_heap_malloc_small, family, GIVE, 1)               \
    X(mi_heap_zalloc, family, GIVE, 1)                     \
    X(mi_heap_calloc, family, GIVE_MANY, 1)                \
    X(mi_heap_mallocn, family, GIVE_MANY, 1)               \
    X(mi_heap_malloc_aligned, family, GIVE, 1)             \
    X(mi_heap_malloc_aligned_at, family, GIVE, 1)          \
    X(mi_heap_zalloc_aligned, family, GIVE, 1)             \
    X(mi_heap_zalloc_aligned_at, family, GIVE, 1)          \
    X(mi_heap_calloc_aligned, family, GIVE_MANY, 1)        \
    X(mi_heap_calloc_aligned_at, family, GIVE_MANY, 1)     \
    X(mi_heap_alloc_new, family, GIVE, 1)                  \
    X(mi_heap_alloc_new_n, family, GIVE_MANY, 1)           \
    X(mi_heap_strdup, family, COPY, 1)                     \
    X(mi_heap_strndup, family, COPY_SOME, 1)               \
    X(mi_heap_realpath, family, COPY_PATH, 2)              \
    X(mi_heap_realloc, family, RESIZE, 1)                  \
    X(mi_heap_reallocn, family, RESIZE_MANY, 1)            \
    X(mi_heap_reallocf, family, RESIZE_OR_TAKE, 1)         \
    X(mi_heap_rezalloc, family, RESIZE, 1)                 \
    X(mi_heap_recalloc, family, RESIZE_MANY, 1)            \
    X(mi_heap_realloc_aligned, family, RESIZE, 1)          \
    X(mi_heap_realloc_aligned_at, family, RESIZE, 1)       \
    X(mi_heap_rezalloc_aligned, family, RESIZE, 1)         \
    X(mi_heap_rezalloc_aligned_at, family, RESIZE, 1)      \
    X(mi_heap_recalloc_aligned, family, RESIZE_MANY, 1)    \
    X(mi_heap_recalloc_aligned_at, family, RESIZE_MANY, 1) \
    X(mi_heap_destroy, family, TAKE_ALL, 0)

#define KYMO_EXTENDED_FUNCTIONS(X)                               \
    KYMO_EXTENDED_JEMALLOC(X, KYMO_EXTENDED_OF_JEMALLOC, )       \
    KYMO_EXTENDED_PREFIXED(X, KYMO_EXTENDED_OF_JE_JEMALLOC, je_) \
    KYMO_EXTENDED_PREFIXED(X, KYMO_EXTENDED_OF_RUST, _rjem_)     \
    KYMO_EXTENDED_TCMALLOC(X, KYMO_EXTENDED_OF_TCMALLOC)         \
    KYMO_EXTENDED_MIMALLOC(X, KYMO_EXTENDED_OF_MIMALLOC)

/* A library that has the first name has such functions; the second says what a block can hold. */
#define KYMO_EXTENDED_FAMILIES(X)                               \
    X(KYMO_EXTENDED_OF_JEMALLOC, "mallocx", "sallocx")          \
    X(KYMO_EXTENDED_OF_JE_JEMALLOC, "je_mallocx", "je_sallocx") \
    X(KYMO_EXTENDED_OF_RUST, "_rjem_mallocx", "_rjem_sallocx")  \
    X(KYMO_EXTENDED_OF_TCMALLOC, "tc_malloc", "tc_malloc_size") \
    X(KYMO_EXTENDED_OF_MIMALLOC, "mi_malloc", "mi_usable_size")

enum kymo_extended_family {
#define NAME(family, witness, usable) family,
    KYMO_EXTENDED_FAMILIES(NAME)
#undef NAME
        KYMO_EXTENDED_FAMILY_COUNT
};

/* All have one type here, of as many arguments as there are registers for. */
typedef uintptr_t kymo_extended_fn(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
                                   uintptr_t f);

struct kymo_extended_function {
    const char *name;
    uint32_t family;
    kymo_extended_fn *hook;  /* what is called instead */
    kymo_extended_fn **next; /* what it calls; NULL: not found */
};
extern const struct kymo_extended_function kymo_extended_functions[];
extern const uint32_t kymo_extended_count;

/* Of each family: how much a block can hold, and of mimalloc, what walks over a heap. NULL: not
 * found. */
typedef uintptr_t kymo_extended_usable_fn(uintptr_t block, uintptr_t flags);
extern kymo_extended_usable_fn *kymo_extended_usable[KYMO_EXTENDED_FAMILY_COUNT];
typedef int kymo_extended_block_fn(const void *heap, const void *area, void *block, uintptr_t bytes,
                                   void *context);
typedef int kymo_extended_visit_fn(const void *heap, int with_blocks,
                                   kymo_extended_block_fn *see_block, void *context);
extern kymo_extended_visit_fn *kymo_extended_visit;

#endif
