/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_answer.h - what the program's allocator says of itself, out of the session.
 *
 * Layer:    recorder
 * Flow:     buffer/allocator_words.h -> [allocator answer] -> telemetry.c, the ledger
 * Threads:  the recorder's one thread
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * The program may write anything there: each word is read once, and is a number like any other.
 */
#ifndef KYMO_RECORDER_ALLOCATOR_ANSWER_H
#define KYMO_RECORDER_ALLOCATOR_ANSWER_H

#include <stdint.h>

#include "buffer/session.h"
#include "memory/figures.h"

struct kymo_allocator_answer {
    uint32_t number; /* of the question; 0: there is no answer */
    uint64_t clock;  /* of the session, when it was given */
    uint64_t took;   /* units of that clock */
    uint64_t known;  /* a bit for each enum kymo_allocator_word */
    int64_t value[KYMO_ALLOCATOR_WORD_COUNT];
};

/* Returns 0, and leaves *answer as it was, if there is none, or one is being written just now. */
int kymo_allocator_answer_read(const struct kymo_session *session,
                               struct kymo_allocator_answer *answer);

/* The figure that a word is. */
enum kymo_figure kymo_allocator_answer_figure(enum kymo_allocator_word word);

/* The same of every allocator, in bytes; below 0: it does not say. */
struct kymo_allocator_sums {
    int64_t allocated; /* in blocks that the program has, as large as they really are, and in caches
                        * of threads where those cannot be told apart (glibc) */
    int64_t free;      /* in none, and kept; not all of it need be resident */
    int64_t own;       /* what it needs for itself, if not in the two above */
    int64_t mapped;    /* all of it, taken from the system and not given back */
};
struct kymo_allocator_sums kymo_allocator_answer_sums(const struct kymo_allocator_answer *answer);

#endif
