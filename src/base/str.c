/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kymo_str_deinit(kymo_str *s)
{
    free(s->data);
    memset(s, 0, sizeof *s);
}

static int reserve(kymo_str *s, size_t extra)
{
    if (s->failed)
        return 0;
    if (extra < s->cap - s->len)
        return 1;
    size_t want = s->len + extra + 1;
    size_t cap = s->cap < 64 ? 64 : s->cap * 2;
    if (cap < want)
        cap = want;
    char *data = want > extra ? realloc(s->data, cap) : NULL;
    if (!data) {
        s->failed = 1;
        return 0;
    }
    s->data = data;
    s->cap = cap;
    return 1;
}

void kymo_str_append(kymo_str *s, const char *text, size_t len)
{
    if (!reserve(s, len))
        return;
    if (len)
        memcpy(s->data + s->len, text, len);
    s->len += len;
    s->data[s->len] = '\0';
}

void kymo_str_puts(kymo_str *s, const char *text)
{
    kymo_str_append(s, text, strlen(text));
}

void kymo_str_printf(kymo_str *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0)
        s->failed = 1;
    else if (reserve(s, (size_t)n)) {
        vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

const char *kymo_str_cstr(const kymo_str *s)
{
    return s->data ? s->data : "";
}

/* The length of the UTF-8 sequence at p (1 to 4), 0 if it is none: overlong forms, surrogates and
 * code points over U+10FFFF are not valid. */
static size_t sequence_len(const unsigned char *p, size_t len)
{
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || len < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

size_t kymo_utf8_valid_prefix(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len) {
        size_t n = sequence_len((const unsigned char *)text + i, len - i);
        if (n == 0)
            break;
        i += n;
    }
    return i;
}

size_t kymo_utf8_copy(char *out, size_t cap, const char *text, size_t len)
{
    size_t written = 0;
    size_t i = 0;
    if (cap == 0)
        return 0;
    while (i < len) {
        size_t n = sequence_len((const unsigned char *)text + i, len - i);
        const char *from = n ? text + i : "\xef\xbf\xbd";
        size_t bytes = n ? n : 3;
        if (bytes > cap - 1 - written)
            break;
        memcpy(out + written, from, bytes);
        written += bytes;
        i += n ? n : 1;
    }
    out[written] = '\0';
    return written;
}

/* Control characters, in one byte or (U+0080 to U+009F) in two; and what turns the direction of
 * text, so that a line does not read as it is (U+202A to U+202E, U+2066 to U+2069). */
static int is_control(const unsigned char *p, size_t n)
{
    if (n == 1)
        return p[0] < ' ' || p[0] == 0x7f;
    if (n == 2)
        return p[0] == 0xc2 && p[1] < 0xa0;
    return n == 3 && p[0] == 0xe2 &&
           ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
            (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
}

size_t kymo_text_make_printable(char *text, size_t len)
{
    size_t written = 0;
    for (size_t i = 0; i < len;) {
        const unsigned char *p = (const unsigned char *)text + i;
        size_t n = sequence_len(p, len - i);
        if (n == 0 || is_control(p, n)) {
            text[written++] = '?';
        } else {
            memmove(text + written, p, n);
            written += n;
        }
        i += n ? n : 1;
    }
    return written;
}

size_t kymo_utf8_encode(char out[4], uint32_t code)
{
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[n] | code);
    return n;
}

int kymo_str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

int kymo_str_ends(const char *text, const char *suffix)
{
    size_t a = strlen(text);
    size_t b = strlen(suffix);
    return a >= b && memcmp(text + a - b, suffix, b) == 0;
}

kymo_err kymo_parse_u64(const char *text, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    if (len == 0)
        return KYMO_E_INVALID;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return KYMO_E_INVALID;
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            return KYMO_E_RANGE;
    }
    *out = value;
    return KYMO_OK;
}

const char *kymo_format_bytes(char out[32], uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    if (bytes < 1024) {
        snprintf(out, 32, "%" PRIu64 " B", bytes);
        return out;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < KYMO_ARRAY_LEN(units)) {
        value /= 1024;
        unit++;
    }
    snprintf(out, 32, value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return out;
}

const char *kymo_format_duration(char out[32], uint64_t ns)
{
    if (ns < 1000)
        snprintf(out, 32, "%" PRIu64 " ns", ns);
    else if (ns < 999500) /* which three digits would round up to the next unit */
        snprintf(out, 32, "%.3g us", (double)ns / 1e3);
    else if (ns < 999500000)
        snprintf(out, 32, "%.3g ms", (double)ns / 1e6);
    else
        snprintf(out, 32, "%.2f s", (double)ns / 1e9);
    return out;
}
