/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.h - what allocators say of themselves, by functions of their own.
 *
 * Layer:    sys; in both halves
 * Flow:     mallinfo2, mallctl, mi_process_info, MallocExtension -> [allocator] -> report
 * Threads:  any
 * Memory:   the caller's
 * Signals:  these functions take the allocator's locks: only where malloc may be called
 */
#ifndef KYMO_SYS_ALLOCATOR_H
#define KYMO_SYS_ALLOCATOR_H

#include <stdint.h>

/* X(name): each is also a figure of memory/figures.def, by the same name, which says what it means.
 * What glibc's malloc_info alone tells is not here: that needs a stream of stdio. */
#define KYMO_ALLOCATOR_WORDS(X) \
    X(GLIBC_ALLOCATED)          \
    X(GLIBC_FREE)               \
    X(GLIBC_MAPPED)             \
    X(GLIBC_DIRECT)             \
    X(GLIBC_DIRECT_BLOCKS)      \
    X(GLIBC_FAST)               \
    X(GLIBC_TOP)                \
    X(JEMALLOC_ALLOCATED)       \
    X(JEMALLOC_ACTIVE)          \
    X(JEMALLOC_METADATA)        \
    X(JEMALLOC_RESIDENT)        \
    X(JEMALLOC_MAPPED)          \
    X(JEMALLOC_RETAINED)        \
    X(JEMALLOC_ARENAS)          \
    X(MIMALLOC_COMMITTED)       \
    X(MIMALLOC_PEAK)            \
    X(TCMALLOC_ALLOCATED)       \
    X(TCMALLOC_FREE)            \
    X(TCMALLOC_MAPPED)          \
    X(TCMALLOC_RETAINED)        \
    X(TCMALLOC_THREAD_CACHES)   \
    X(TCMALLOC_CENTRAL)

enum kymo_allocator_word {
#define X(name) KYMO_ALLOCATOR_WORD_##name,
    KYMO_ALLOCATOR_WORDS(X)
#undef X
        KYMO_ALLOCATOR_WORD_COUNT
};

struct kymo_allocator_report {
    uint64_t known; /* a bit for each word that is one */
    uint64_t value[KYMO_ALLOCATOR_WORD_COUNT];
};

/* Each adds to the report; the second argument is the function that is asked. */
void kymo_allocator_ask_glibc(struct kymo_allocator_report *report, uint64_t mallinfo2);
void kymo_allocator_ask_jemalloc(struct kymo_allocator_report *report, uint64_t mallctl);
void kymo_allocator_ask_mimalloc(struct kymo_allocator_report *report, uint64_t mi_process_info);
void kymo_allocator_ask_tcmalloc(struct kymo_allocator_report *report,
                                 uint64_t get_numeric_property);

#endif
