/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_format.c - see mark_format.h.
 *
 * A conversion is parsed, and numbers are formatted by snprintf with a specification made from the
 * parsed parts: text of the file never becomes a format of libc. Text is cut and padded here, since
 * libc might cut within a character. An integer has the width of its length modifier, as when it
 * was passed: "%x" of -1 has 8 digits. An integer that does not fit in 32 bits keeps its value even
 * if "l" is missing.
 */
#include "profile/mark_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Digits of the longest double, and those behind its point. */
#define NUMBER_MAX (2 * KYMO_FORMAT_WIDTH_MAX + 320)

struct output {
    char *at;
    size_t cap;
    size_t len;
    int is_cut;
};

struct conversion {
    const char *begin; /* from the percent sign on */
    const char *end;
    char flags[8]; /* of "-+ #0", each once */
    int width;
    int precision; /* -1: none */
    unsigned size; /* bytes of an integer; 0: no length modifier */
    char letter;
    int is_complete; /* all its arguments exist */
    uint32_t arg;
};

struct reader {
    const struct kymo_format_arg *args;
    uint32_t count;
    uint32_t next;
};

static int is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* How many bytes of a text fit into `room` without cutting a character. */
static size_t whole_part(const char *text, size_t len, size_t room)
{
    if (len <= room)
        return len;
    size_t n = room;
    while (n > 0 && room - n < 3 && is_continuation(text[n]))
        n--;
    return is_continuation(text[n]) ? room : n;
}

static void put(struct output *out, const char *text, size_t len)
{
    if (out->is_cut)
        return;
    size_t n = whole_part(text, len, out->cap - out->len);
    memcpy(out->at + out->len, text, n);
    out->len += n;
    out->is_cut = n < len;
}

static void put_spaces(struct output *out, size_t n)
{
    static const char spaces[] = "                                ";
    for (; n > 0 && !out->is_cut; n -= n < sizeof spaces - 1 ? n : sizeof spaces - 1)
        put(out, spaces, n < sizeof spaces - 1 ? n : sizeof spaces - 1);
}

/* ---- parsing ---- */

static int read_number(const char **at)
{
    int n = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (n <= KYMO_FORMAT_WIDTH_MAX)
            n = n * 10 + (**at - '0');
    return n < KYMO_FORMAT_WIDTH_MAX ? n : KYMO_FORMAT_WIDTH_MAX;
}

/* Takes the argument that "3$" names, else the next one. Returns 0 if there is none. */
static int take_arg(struct reader *r, const char **at, uint32_t *arg)
{
    const char *digits = *at;
    int n = read_number(&digits);
    if (digits > *at && *digits == '$') {
        *at = digits + 1;
        *arg = (uint32_t)n - 1;
    } else {
        *arg = r->next++;
    }
    return *arg < r->count;
}

static int is_integer(const struct kymo_format_arg *arg)
{
    return arg->kind == KYMO_VALUE_I64 || arg->kind == KYMO_VALUE_U64 ||
           arg->kind == KYMO_VALUE_BOOL;
}

/* A width or precision: a number, or a star for an argument. */
static int read_amount(struct reader *r, const char **at, struct conversion *c)
{
    uint32_t arg;
    if (**at != '*')
        return read_number(at);
    ++*at;
    if (!take_arg(r, at, &arg) || !is_integer(&r->args[arg])) {
        c->is_complete = 0;
        return 0;
    }
    int64_t n = r->args[arg].as.i64;
    return n > KYMO_FORMAT_WIDTH_MAX    ? KYMO_FORMAT_WIDTH_MAX
           : n < -KYMO_FORMAT_WIDTH_MAX ? -KYMO_FORMAT_WIDTH_MAX
                                        : (int)n;
}

static void add_flag(struct conversion *c, char flag)
{
    if (strchr("-+ #0", flag) && !strchr(c->flags, flag))
        c->flags[strlen(c->flags)] = flag; /* the other flags only affect the digits of a locale */
}

static void read_length(const char **at, struct conversion *c)
{
    for (; **at != '\0' && strchr("hlLqjzt", **at); ++*at)
        c->size = **at != 'h' ? 8 : c->size == 2 ? 1 : 2;
}

/* Parses the conversion after a percent sign. */
static struct conversion read_conversion(struct reader *r, const char *percent)
{
    struct conversion c = {.begin = percent, .precision = -1, .is_complete = 1};
    const char *at = percent + 1;
    const char *digits = at;
    int position = read_number(&digits);
    int is_placed = digits > at && *digits == '$';
    if (is_placed)
        at = digits + 1;
    for (; *at != '\0' && strchr("-+ #0'I", *at); at++)
        add_flag(&c, *at);
    c.width = read_amount(r, &at, &c);
    if (c.width < 0) {
        add_flag(&c, '-');
        c.width = -c.width;
    }
    if (*at == '.') {
        at++;
        c.precision = read_amount(r, &at, &c);
    }
    read_length(&at, &c);
    c.letter = *at;
    c.end = *at != '\0' ? at + 1 : at;
    while ((unsigned char)c.letter >= 0xc0 && is_continuation(*c.end))
        c.end++; /* include a character that is not a letter */
    if (!strchr("%m", c.letter)) {
        c.arg = is_placed ? (uint32_t)position - 1 : r->next++;
        c.is_complete &= c.arg < r->count;
    }
    return c;
}

/* ---- showing ---- */

static void put_padded(struct output *out, const struct conversion *c, const char *text, size_t len,
                       int is_cut)
{
    size_t shown = c->precision >= 0 ? whole_part(text, len, (size_t)c->precision) : len;
    const char *mark = is_cut && shown == len ? KYMO_TEXT_CUT : "";
    size_t all = shown + strlen(mark);
    size_t pad = (size_t)c->width > all ? (size_t)c->width - all : 0;
    if (!strchr(c->flags, '-'))
        put_spaces(out, pad);
    put(out, text, shown);
    put(out, mark, strlen(mark));
    if (strchr(c->flags, '-'))
        put_spaces(out, pad);
}

/* Width and precision are passed as arguments; a negative precision means none. */
static void make_specification(char out[16], const struct conversion *c, const char *length,
                               char letter)
{
    snprintf(out, 16, "%%%s*.*%s%c", c->flags, length, letter);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

/* The bits of an integer that its length modifier leaves, as a signed or unsigned number. */
static uint64_t narrow(const struct conversion *c, uint64_t bits, int is_signed)
{
    unsigned size = c->size;
    if (size == 0)
        size = (int64_t)bits >= INT32_MIN && (int64_t)bits <= (int64_t)UINT32_MAX ? 4 : 8;
    unsigned drop = 64 - 8 * size;
    return is_signed ? (uint64_t)((int64_t)(bits << drop) >> drop) : bits << drop >> drop;
}

static void put_integer(struct output *out, const struct conversion *c, char letter, uint64_t bits)
{
    char specification[16];
    char text[NUMBER_MAX];
    int is_signed = letter == 'd' || letter == 'i';
    make_specification(specification, c, "l", letter);
    bits = narrow(c, bits, is_signed);
    int n = is_signed
                ? snprintf(text, sizeof text, specification, c->width, c->precision, (long)bits)
                : snprintf(text, sizeof text, specification, c->width, c->precision,
                           (unsigned long)bits);
    put(out, text, n > 0 ? (size_t)n : 0);
}

static void put_float(struct output *out, const struct conversion *c, char letter, double f64)
{
    char specification[16];
    char text[NUMBER_MAX];
    make_specification(specification, c, "", letter);
    int n = snprintf(text, sizeof text, specification, c->width, c->precision, f64);
    put(out, text, n > 0 ? (size_t)n : 0);
}

#pragma GCC diagnostic pop

static void put_pointer(struct output *out, struct conversion *c, uint64_t address)
{
    char text[32];
    c->precision = -1;
    if (address == 0)
        snprintf(text, sizeof text, "(nil)");
    else
        snprintf(text, sizeof text, "0x%" PRIx64, address);
    put_padded(out, c, text, strlen(text), 0);
}

/* One character: a byte, or a Unicode code point. */
static void put_character(struct output *out, struct conversion *c, uint64_t code)
{
    char text[4] = {(char)code};
    size_t len = 1;
    if (c->size == 8 || c->letter == 'C')
        len = kymo_utf8_encode(text, code <= 0x10ffff ? (uint32_t)code : 0xfffd);
    c->precision = -1;
    put_padded(out, c, text, len, 0);
}

/* Shows an argument by its own kind; the conversion is for another one. */
static void put_natural(struct output *out, struct conversion *c, const struct kymo_format_arg *arg)
{
    if (arg->kind != KYMO_VALUE_STRING)
        c->precision = -1;
    switch (arg->kind) {
    case KYMO_VALUE_BOOL:
    case KYMO_VALUE_I64:
        c->size = 8;
        put_integer(out, c, 'd', arg->as.u64);
        break;
    case KYMO_VALUE_U64:
        c->size = 8;
        put_integer(out, c, 'u', arg->as.u64);
        break;
    case KYMO_VALUE_F64:
        put_float(out, c, 'g', arg->as.f64);
        break;
    case KYMO_VALUE_POINTER:
        put_pointer(out, c, arg->as.u64);
        break;
    case KYMO_VALUE_STRING:
        put_padded(out, c, arg->as.text, arg->len, arg->is_cut);
        break;
    default:
        put_padded(out, c, "(null)", 6, 0);
        break;
    }
}

static void put_conversion(struct output *out, struct conversion *c,
                           const struct kymo_format_arg *arg)
{
    int is_number = is_integer(arg) || arg->kind == KYMO_VALUE_POINTER;
    if (c->size == 0 && arg->kind != KYMO_VALUE_I64 && arg->as.u64 > UINT32_MAX)
        c->size = 8;
    if (strchr("diuoxX", c->letter) && is_number)
        put_integer(out, c, c->letter, arg->as.u64);
    else if (strchr("aAeEfFgG", c->letter) && arg->kind == KYMO_VALUE_F64)
        put_float(out, c, c->letter, arg->as.f64);
    else if (strchr("cC", c->letter) && is_integer(arg))
        put_character(out, c, arg->as.u64);
    else if (c->letter == 'p' && is_number)
        put_pointer(out, c, arg->as.u64);
    else
        put_natural(out, c, arg);
}

size_t kymo_mark_format(char *out, size_t cap, const char *format,
                        const struct kymo_format_arg *args, uint32_t count, int *is_cut)
{
    struct output output = {.at = out, .cap = cap};
    struct reader reader = {args, count, 0};
    while (*format != '\0' && !output.is_cut) {
        size_t plain = strcspn(format, "%");
        put(&output, format, plain);
        format += plain;
        if (*format == '\0')
            break;
        struct conversion c = read_conversion(&reader, format);
        format = c.end;
        if (c.letter == '%')
            put(&output, "%", 1);
        else if (c.letter != '\0' && c.is_complete && strchr("diuoxXaAeEfFgGcCpsS", c.letter))
            put_conversion(&output, &c, &args[c.arg]);
        else
            put(&output, c.begin, (size_t)(c.end - c.begin));
    }
    *is_cut = output.is_cut;
    return output.len;
}
