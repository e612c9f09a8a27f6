/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.h - growable text, and small helpers on text that is not ours.
 *
 * Layer:    base (cold half only)
 * Threads:  one owner at a time
 * Memory:   a kymo_str owns its text, from malloc
 * Signals:  not for handlers
 */
#ifndef KYMO_BASE_STR_H
#define KYMO_BASE_STR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Text that grows; always NUL-terminated once something was appended. `failed` stays set after an
 * allocation failed, so that a caller may append many times and look once. */
typedef struct kymo_str {
    char *data;
    size_t len;
    size_t cap;
    int failed;
} kymo_str;

void kymo_str_deinit(kymo_str *s);
void kymo_str_append(kymo_str *s, const char *text, size_t len);
void kymo_str_puts(kymo_str *s, const char *text);
void kymo_str_printf(kymo_str *s, const char *fmt, ...) KYMO_PRINTF(2, 3);
/* The text ("" when empty); valid until the next append. */
const char *kymo_str_cstr(const kymo_str *s);

/* The length of the longest prefix of text, of at most len bytes, that is valid UTF-8. */
size_t kymo_utf8_valid_prefix(const char *text, size_t len);
/* Makes text safe to be shown on a terminal, in its place: each control character (newlines and
 * escapes, too) and each byte that is no UTF-8 becomes '?'. Paths, commands and names come from
 * others, and an escape sequence in them can do to a terminal what its user would not. Returns the
 * new length, which is not larger; there is no NUL at its end. */
size_t kymo_text_make_printable(char *text, size_t len);
/* Copies text into out (cap bytes, NUL included) with every byte that is not part of valid UTF-8
 * replaced by U+FFFD; cut on a character boundary. Returns the length written. */
size_t kymo_utf8_copy(char *out, size_t cap, const char *text, size_t len);

/* The UTF-8 of a code point, which is U+FFFD for what is none; returns its length, 1 to 4. */
size_t kymo_utf8_encode(char out[4], uint32_t code);

int kymo_str_starts(const char *text, const char *prefix);
int kymo_str_ends(const char *text, const char *suffix);

/* "0" to "18446744073709551615", nothing else (no sign, space or suffix). */
KYMO_NODISCARD
kymo_err kymo_parse_u64(const char *text, size_t len, uint64_t *out);

/* For people: 1234567 -> "1.2 MiB", 1234567 ns -> "1.23 ms". out has room for 32 bytes. */
const char *kymo_format_bytes(char out[32], uint64_t bytes);
const char *kymo_format_duration(char out[32], uint64_t ns);

#endif
