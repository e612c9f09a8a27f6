/* SPDX-License-Identifier: Apache-2.0 */
/*
 * word_list.h - the syntax of a list of names: "all:-net:disk/read".
 *
 * Layer:    base
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 *
 * One syntax for all parts that take such a list from outside: the command line, the programs' API,
 * the recorder's control socket. What the words mean is for capture/mark_select.c.
 */
#ifndef KYMO_BASE_WORD_LIST_H
#define KYMO_BASE_WORD_LIST_H

#include <stddef.h>

/* Whether these bytes are words with colons between, each with one minus in front or none. No word
 * is empty, nor "-none" (which has no meaning), nor holds a comma, which ends an option, or what a
 * line of a message cannot show. No bytes at all are a list, too. */
int kymo_word_list_is(const char *text, size_t len);

struct kymo_word {
    const char *text; /* without its minus; not terminated */
    size_t len;
    int is_off;
};

/* The word that begins at *at, a list that ends with a NUL; *at moves on behind it. Returns 0 at
 * the end. */
int kymo_word_list_next(const char **at, struct kymo_word *word);
/* Whether a word is this name; upper and lower case are the same. */
int kymo_word_is(const struct kymo_word *word, const char *name);

#endif
