/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { NUMBER_MAX = 400 }; /* characters; longer ones are no real program's */

static int fail(kymo_json_read *j)
{
    j->failed = 1;
    return 0;
}

/* The text ends within the next piece. */
static int fail_at_end(kymo_json_read *j)
{
    j->at = j->len;
    return fail(j);
}

kymo_json_read kymo_json_read_at(const char *data, size_t len, size_t at)
{
    return (kymo_json_read){.data = data, .len = len, .at = at < len ? at : len};
}

static int is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static KYMO_NOINLINE void pass_blanks(kymo_json_read *j)
{
    while (j->at < j->len && is_blank(j->data[j->at]))
        j->at++;
}

/* The next character that is not blank; 0 at the end. Inlined: a number in a column is five looks.
 */
KYMO_INLINE char look(kymo_json_read *j)
{
    if (j->at < j->len && (unsigned char)j->data[j->at] <= ' ')
        pass_blanks(j);
    return j->at < j->len && !j->failed ? j->data[j->at] : 0;
}

char kymo_json_peek(kymo_json_read *j)
{
    return look(j);
}

static int take(kymo_json_read *j, char c)
{
    if (look(j) != c || j->failed)
        return 0;
    j->at++;
    return 1;
}

int kymo_json_enter(kymo_json_read *j, char bracket)
{
    if (!take(j, bracket))
        return fail(j);
    j->is_fresh = 1;
    return 1;
}

/* Behind the last piece of a container: its end, or a comma. */
static int next(kymo_json_read *j, char end)
{
    int is_fresh = j->is_fresh;
    j->is_fresh = 0;
    if (j->failed || take(j, end))
        return 0;
    return is_fresh || take(j, ',') ? 1 : fail(j);
}

int kymo_json_next_member(kymo_json_read *j, kymo_json_text *key)
{
    if (!next(j, '}'))
        return 0;
    kymo_json_read_text(j, key);
    if (!take(j, ':'))
        return fail(j);
    return 1;
}

int kymo_json_next_element(kymo_json_read *j)
{
    return next(j, ']');
}

/* ---- strings ---- */

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int is_hex4(const char *text, size_t left)
{
    for (size_t i = 0; i < 4; i++)
        if (i >= left || hex_value(text[i]) < 0)
            return 0;
    return 1;
}

/* The escape at the reader's place. */
static int pass_escape(kymo_json_read *j)
{
    size_t left = j->len - j->at;
    const char *at = j->data + j->at;
    if (left < 6 && !memchr(at, '"', left))
        return fail_at_end(j);
    if (left < 2 || !memchr("\"\\/bfnrtu", at[1], 9) ||
        (at[1] == 'u' && !is_hex4(at + 2, left - 2)))
        return fail(j);
    j->at += at[1] == 'u' ? 6 : 2;
    return 1;
}

void kymo_json_read_text(kymo_json_read *j, kymo_json_text *text)
{
    *text = (kymo_json_text){.data = ""};
    if (!take(j, '"')) {
        fail(j);
        return;
    }
    size_t from = j->at;
    while (j->at < j->len && j->data[j->at] != '"') {
        if (j->data[j->at] != '\\') {
            j->at++;
            continue;
        }
        text->has_escapes = 1;
        if (!pass_escape(j))
            return;
    }
    if (j->at == j->len) {
        fail(j);
        return;
    }
    text->data = j->data + from;
    text->len = j->at++ - from;
}

int kymo_json_is_text(const kymo_json_text *text, const char *word)
{
    return !text->has_escapes && strlen(word) == text->len &&
           memcmp(text->data, word, text->len) == 0;
}

static uint32_t unit_at(const char *hex)
{
    uint32_t unit = 0;
    for (size_t i = 0; i < 4; i++)
        unit = unit << 4 | (uint32_t)hex_value(hex[i]);
    return unit;
}

/* "\uXXXX" at text[at], or a pair of them. */
static uint32_t code_at(const kymo_json_text *text, size_t *at)
{
    uint32_t code = unit_at(text->data + *at + 2);
    *at += 6;
    if (code >= 0xd800 && code < 0xdc00 && *at + 6 <= text->len &&
        memcmp(text->data + *at, "\\u", 2) == 0) {
        uint32_t low = unit_at(text->data + *at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            *at += 6;
            return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return code;
}

static char escaped(char c)
{
    static const char names[] = "bfnrt";
    static const char values[] = "\b\f\n\r\t";
    const char *at = strchr(names, c);
    return at ? values[at - names] : c;
}

size_t kymo_json_unescape(const kymo_json_text *text, char *out)
{
    size_t len = 0;
    for (size_t at = 0; at < text->len;) {
        if (text->data[at] != '\\') {
            out[len++] = text->data[at++];
        } else if (text->data[at + 1] == 'u') {
            len += kymo_utf8_encode(out + len, code_at(text, &at));
        } else {
            out[len++] = escaped(text->data[at + 1]);
            at += 2;
        }
    }
    return len;
}

/* ---- words and numbers ---- */

static int take_word(kymo_json_read *j, const char *word)
{
    size_t len = strlen(word);
    if (look(j) != word[0])
        return 0;
    size_t left = j->len - j->at;
    if (left < len && memcmp(j->data + j->at, word, left) == 0)
        return fail_at_end(j);
    if (left < len || memcmp(j->data + j->at, word, len) != 0)
        return 0;
    j->at += len;
    return 1;
}

int kymo_json_take_null(kymo_json_read *j)
{
    return take_word(j, "null");
}

int kymo_json_read_bool(kymo_json_read *j)
{
    if (take_word(j, "true"))
        return 1;
    return take_word(j, "false") ? 0 : fail(j);
}

static int begins_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-';
}

static int is_of_number(char c)
{
    return begins_number(c) || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* The text of a number; 0: there is none. */
static size_t number_len(kymo_json_read *j)
{
    size_t len = 0;
    if (!begins_number(look(j))) {
        fail(j);
        return 0;
    }
    while (j->at + len < j->len && is_of_number(j->data[j->at + len]))
        len++;
    if (len > NUMBER_MAX)
        fail(j);
    return j->failed ? 0 : len;
}

static int64_t clamp(double value)
{
    if (value >= 0x1p63)
        return INT64_MAX;
    return value <= -0x1p63 ? INT64_MIN : (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

/* Digits alone, with a point or without: exact. 0: it has an exponent, or is too large. */
static int read_plain(const char *text, size_t len, unsigned digits, int64_t *out)
{
    int is_negative = len > 0 && text[0] == '-';
    int seen_point = 0;
    int rounds_up = 0;
    unsigned taken = 0; /* digits behind the point */
    int64_t value = 0;
    if (len == (size_t)is_negative || text[is_negative] == '.')
        return 0;
    for (size_t i = (size_t)is_negative; i < len; i++) {
        if (text[i] == '.' && !seen_point) {
            seen_point = 1;
        } else if (text[i] < '0' || text[i] > '9') {
            return 0;
        } else if (seen_point && taken >= digits) {
            rounds_up = rounds_up || (taken == digits && text[i] >= '5');
            taken++;
        } else {
            taken += (unsigned)seen_point;
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, text[i] - '0', &value))
                return 0;
        }
    }
    for (; taken < digits; taken++)
        if (__builtin_mul_overflow(value, 10, &value))
            return 0;
    value += rounds_up && value < INT64_MAX;
    *out = is_negative ? -value : value;
    return 1;
}

int64_t kymo_json_read_scaled(kymo_json_read *j, unsigned digits)
{
    char text[NUMBER_MAX + 1];
    int64_t value;
    char *end;
    size_t len = number_len(j);
    if (len == 0)
        return 0;
    const char *from = j->data + j->at;
    if (!read_plain(from, len, digits, &value)) {
        memcpy(text, from, len);
        text[len] = '\0';
        double parsed = strtod(text, &end);
        if (end != text + len)
            return j->at + len == j->len ? fail_at_end(j) : fail(j);
        for (; digits > 0; digits--)
            parsed *= 10;
        value = clamp(parsed);
    }
    j->at += len;
    return value;
}

/* ---- skipping ---- */

static void skip_scalar(kymo_json_read *j)
{
    kymo_json_text text;
    switch (look(j)) {
    case '"':
        kymo_json_read_text(j, &text);
        return;
    case 't':
    case 'f':
        (void)kymo_json_read_bool(j);
        return;
    case 'n':
        if (!kymo_json_take_null(j))
            fail(j);
        return;
    default:
        j->at += number_len(j);
    }
}

/* The numbers that follow in an array with nothing but a comma between them: most of the bytes of a
 * profile. */
static void skip_numbers(kymo_json_read *j)
{
    while (j->at + 1 < j->len && j->data[j->at] == ',' && begins_number(j->data[j->at + 1])) {
        j->at++;
        j->at += number_len(j);
    }
}

/* Enters the value that follows if it is a container; else passes over it. */
static void skip_step(kymo_json_read *j, char *ends, unsigned *depth)
{
    char c = look(j);
    if (c != '{' && c != '[') {
        skip_scalar(j);
        if (*depth > 0 && ends[*depth - 1] == ']')
            skip_numbers(j);
        return;
    }
    if (*depth == KYMO_JSON_DEPTH_MAX) {
        fail(j);
        return;
    }
    ends[(*depth)++] = c == '{' ? '}' : ']';
    kymo_json_enter(j, c);
}

void kymo_json_skip(kymo_json_read *j)
{
    char ends[KYMO_JSON_DEPTH_MAX];
    unsigned depth = 0;
    kymo_json_text key;
    skip_step(j, ends, &depth);
    while (depth > 0 && !j->failed) {
        int has =
            ends[depth - 1] == '}' ? kymo_json_next_member(j, &key) : kymo_json_next_element(j);
        if (has)
            skip_step(j, ends, &depth);
        else
            depth--;
    }
}
