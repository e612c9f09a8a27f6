/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_read.h - reads JSON piece by piece, with bounds.
 *
 * Layer:    base; above base
 * Flow:     text -> [json_read] -> decoders
 * Threads:  one owner at a time
 * Memory:   borrows the text; nothing is allocated
 * Signals:  not for handlers
 *
 * The first fault sets `failed` for good, with `at` at its place; then every call gives 0. So loops
 * end, and a decoder may read a whole table and look once.
 *
 * Use:  kymo_json_enter(&j, '{');
 *       while (kymo_json_next_member(&j, &key))
 *           if (kymo_json_is_text(&key, "name")) ... read the value ...
 *           else kymo_json_skip(&j);
 */
#ifndef KYMO_BASE_JSON_READ_H
#define KYMO_BASE_JSON_READ_H

#include <stddef.h>
#include <stdint.h>

#define KYMO_JSON_DEPTH_MAX 512 /* containers in each other that are skipped */

typedef struct kymo_json_read {
    const char *data;
    size_t len;
    size_t at;
    int is_fresh; /* a container was entered, and nothing of it was read */
    int failed;
} kymo_json_read;

/* A string as it is in the text, without its quotes. */
typedef struct kymo_json_text {
    const char *data;
    size_t len;
    int has_escapes;
} kymo_json_text;

kymo_json_read kymo_json_read_at(const char *data, size_t len, size_t at);

/* The first character of the next value: one of { [ " t f n - 0 to 9; 0 at the end. */
char kymo_json_peek(kymo_json_read *j);
/* Begins an object '{' or an array '['; 0: the value is another. */
int kymo_json_enter(kymo_json_read *j, char bracket);
/* The next member of an object, whose value follows: 1; 0: there is none. */
int kymo_json_next_member(kymo_json_read *j, kymo_json_text *key);
/* The next element of an array follows: 1; 0: there is none. */
int kymo_json_next_element(kymo_json_read *j);
/* Passes over a value of any kind, which must be valid. */
void kymo_json_skip(kymo_json_read *j);
/* null was there, and is read; 0: another value follows. */
int kymo_json_take_null(kymo_json_read *j);

void kymo_json_read_text(kymo_json_read *j, kymo_json_text *text);
/* Whether it is this text; one with escapes is none. */
int kymo_json_is_text(const kymo_json_text *text, const char *word);
/* Without escapes; out has room for text->len bytes. A lone surrogate becomes U+FFFD. Returns the
 * length. */
size_t kymo_json_unescape(const kymo_json_text *text, char *out);

int kymo_json_read_bool(kymo_json_read *j);
/* A number times 10^digits (up to 9), rounded; beyond int64_t it is the largest or least one. With
 * as many digits as a writer wrote, the result is exact. */
int64_t kymo_json_read_scaled(kymo_json_read *j, unsigned digits);

#endif
