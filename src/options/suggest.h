/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest.h - finds the known word that a mistyped one was probably meant to be.
 *
 * Layer:    options; above base
 * Threads:  any
 * Memory:   none but the caller's struct
 * Signals:  not for handlers
 */
#ifndef KYMO_OPTIONS_SUGGEST_H
#define KYMO_OPTIONS_SUGGEST_H

#include <stddef.h>

struct kymo_suggestion {
    const char *word;
    size_t len;
    const char *best;
    size_t best_distance;
};

/* Looks for words near word (len bytes, borrowed until the end of the search). */
void kymo_suggest_start(struct kymo_suggestion *s, const char *word, size_t len);
/* Considers one known word, which must outlive the search. */
void kymo_suggest_try(struct kymo_suggestion *s, const char *known);
/* The nearest of those tried, NULL if none is near enough to be worth saying. */
const char *kymo_suggest_best(const struct kymo_suggestion *s);

#endif
