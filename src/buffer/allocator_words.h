/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_words.h - what the program's allocator says of itself, as it stands in the session.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     capture/alloc_words.c in the program -> [allocator words] -> recorder
 * Threads:  the recorder asks; the thread that took the question answers
 * Memory:   in the session's header
 * Signals:  nothing here runs
 *
 * The recorder raises `wanted` (session.h); a thread of the program that comes by raises `taken` to
 * the same, asks its allocator, and says so in `answered`. No thread comes by while the program
 * allocates nothing: then a question waits, and the answer before it still holds.
 */
#ifndef KYMO_BUFFER_ALLOCATOR_WORDS_H
#define KYMO_BUFFER_ALLOCATOR_WORDS_H

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

/* Written by the program. */
struct kymo_allocator_words {
    uint32_t taken;    /* the last question that a thread took */
    uint32_t answered; /* the one that all that follows answers; 0 while it changes; release */
    uint64_t clock;    /* of the session, when the answer was complete */
    uint64_t took;     /* in units of that clock */
    uint64_t known;    /* a bit for each word that is one */
    uint64_t value[KYMO_ALLOCATOR_WORD_COUNT];
};

#endif
