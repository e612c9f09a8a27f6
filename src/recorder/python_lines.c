/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_lines.c - lines of Python's code.
 *
 * 3.9: pairs of bytes: how much code until the next line, how many lines until then (signed).
 * 3.10: pairs: the bytes of a range, and its distance in lines from the one before (signed; -128:
 * it has no line). From 3.11 on: entries of one byte (bits 3 to 6: the kind, bits 0 to 2: code
 * units less one), with more bytes as the kind says. Objects/lnotab_notes.txt and
 * Objects/locations.md of CPython describe them.
 */
#include <stdbool.h>

#include "recorder/python_events.h"

enum { NO_LINE = -128 };

/* Of an entry from 3.11 on. */
enum { ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14, WITHOUT_LINE = 15 };

struct table {
    const uint8_t *bytes;
    uint32_t len, at;
};

static uint32_t next_byte(struct table *t)
{
    return t->at < t->len ? t->bytes[t->at++] : 0;
}

/* Groups of six bits, the lowest first; bit 6: there are more. */
static uint32_t next_varint(struct table *t)
{
    uint32_t value = 0;
    uint32_t byte;
    uint32_t shift = 0;
    do {
        byte = next_byte(t);
        if (shift < 32)
            value |= (byte & 63) << shift;
        shift += 6;
    } while (byte & 64);
    return value;
}

static int32_t next_signed(struct table *t)
{
    uint32_t value = next_varint(t);
    return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

static uint32_t shown(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t line_of_pairs(struct table t, int64_t line, uint32_t at)
{
    uint64_t end = 0;
    while (t.at + 1 < t.len) {
        end += next_byte(&t);
        int32_t more = (int8_t)next_byte(&t);
        if (end > at)
            break;
        line += more;
    }
    return shown(line);
}

static uint32_t line_of_ranges(struct table t, int64_t line, uint32_t at)
{
    uint64_t end = 0;
    while (t.at + 1 < t.len) {
        end += next_byte(&t);
        int32_t more = (int8_t)next_byte(&t);
        if (more != NO_LINE)
            line += more;
        if (end > at)
            return more == NO_LINE ? 0 : shown(line);
    }
    return 0;
}

static uint32_t line_of_entries(struct table t, int64_t line, uint32_t at)
{
    uint64_t end = 0;
    while (t.at < t.len) {
        uint32_t head = next_byte(&t);
        uint32_t kind = head >> 3 & 15;
        end += 2 * ((head & 7) + 1);
        if (kind == NO_COLUMNS || kind == LONG) {
            line += next_signed(&t);
            for (int i = 0; kind == LONG && i < 3; i++)
                (void)next_varint(&t);
        } else if (kind < ONE_LINE_FIRST) {
            (void)next_byte(&t);
        } else if (kind <= ONE_LINE_LAST) {
            line += kind - ONE_LINE_FIRST;
            (void)next_byte(&t);
            (void)next_byte(&t);
        }
        if (end > at)
            return kind == WITHOUT_LINE ? 0 : shown(line);
    }
    return 0;
}

uint32_t kymo_python_line(uint32_t minor, const uint8_t *lines, uint32_t len, uint32_t first_line,
                          uint32_t at)
{
    const struct table t = {lines, len, 0};
    if (!lines)
        return 0;
    if (at > INT32_MAX) /* before the first instruction, as CPython has it */
        return shown(first_line);
    return minor < 10    ? line_of_pairs(t, first_line, at)
           : minor == 10 ? line_of_ranges(t, first_line, at)
                         : line_of_entries(t, first_line, at);
}
