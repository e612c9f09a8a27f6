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

#include "sys/allocator.h"

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
