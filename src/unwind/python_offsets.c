/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_offsets.c - where CPython keeps things, for each minor version (64 bits, with the GIL).
 *
 * A minor version keeps its layout through its releases. From 3.13 on the interpreter has a table
 * of its own offsets at the begin of _PyRuntime, for debuggers.
 */
#include "unwind/python_walk.h"

#include <string.h>

static const struct kymo_python_offsets versions[] = {
    [9] = {584, 176, 24, 0, 0, 32, 24, 104, 0, 40, 104, 112, 120, 0, 48, 360, 160, 0},
    [10] = {584, 176, 24, 0, 0, 32, 24, 96, 0, 40, 104, 112, 120, 0, 48, 352, 168, 0},
    [11] = {592, 152, 56, 8, 16, 32, 48, 56, 0, 72, 112, 128, 136, 184, 48, 72, 144, 296},
    [12] = {1544, 136, 56, 0, 8, 0, 8, 56, 70, 68, 112, 128, 136, 192, 40, 72, 144, 232},
    [13] = {2160, 152, 72, 0, 0, 0, 8, 56, 70, 68, 112, 128, 136, 200, 40, 72, 128, 232},
    [14] = {2336, 152, 72, 0, 0, 0, 8, 56, 74, 68, 112, 128, 136, 208, 40, 80, 136, 232},
};

static const struct kymo_python_lists lists[] = {
    [9] = {32, 0, 8},   [10] = {32, 0, 8},        [11] = {40, 0, 16},
    [12] = {40, 0, 72}, [13] = {632, 7264, 7344}, [14] = {808, 7272, 7344},
};

/* Where the table of a version has what is wanted: each entry is 64 bits. The first entries are the
 * same in each, and tell which version it is. */
enum { FREE_THREADED = 2, INTERPRETERS = 5, NEXT_INTERPRETER = 8, THREADS = 9, ENTRIES = 81 };

struct places {
    uint8_t current_frame, thread_id;
    uint8_t previous, executable, instruction, owner;
    uint8_t file_name, qualified_name, line_table, first_line, instructions;
    uint8_t ascii_bytes;
};

static const struct places tables[] = {
    [13] = {23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70},
    [14] = {26, 27, 32, 33, 34, 36, 40, 42, 43, 44, 48, 80},
};

static bool take_entry(const uint64_t *table, unsigned i, uint16_t *offset)
{
    *offset = (uint16_t)table[i];
    return table[i] < 4096;
}

static const char cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

bool kymo_python_is_free_threaded(uint32_t minor, const void *runtime)
{
    uint64_t table[FREE_THREADED + 1];
    memcpy(table, runtime, minor < 13 ? 0 : sizeof table);
    return minor >= 13 && memcmp(table, cookie, sizeof cookie) == 0 && table[FREE_THREADED] != 0;
}

bool kymo_python_offsets_of(uint32_t minor, const void *runtime, struct kymo_python_offsets *out)
{
    uint64_t table[ENTRIES];
    if (minor >= KYMO_ARRAY_LEN(versions) || versions[minor].key == 0)
        return false;
    *out = versions[minor];
    if (minor < 13)
        return true;
    const struct places *p = &tables[minor];
    memcpy(table, runtime, sizeof table);
    return memcmp(table, cookie, sizeof cookie) == 0 && table[FREE_THREADED] == 0 &&
           take_entry(table, p->current_frame, &out->frame) &&
           take_entry(table, p->thread_id, &out->thread_id) &&
           take_entry(table, p->previous, &out->back) &&
           take_entry(table, p->executable, &out->code) &&
           take_entry(table, p->instruction, &out->at) &&
           take_entry(table, p->owner, &out->owner) &&
           take_entry(table, p->file_name, &out->file) &&
           take_entry(table, p->qualified_name, &out->name) &&
           take_entry(table, p->line_table, &out->lines) &&
           take_entry(table, p->first_line, &out->first_line) &&
           take_entry(table, p->instructions, &out->instructions) &&
           take_entry(table, p->ascii_bytes, &out->text);
}

bool kymo_python_lists_of(uint32_t minor, const void *runtime, struct kymo_python_lists *out)
{
    uint64_t table[ENTRIES];
    if (minor >= KYMO_ARRAY_LEN(lists) || lists[minor].interpreters == 0)
        return false;
    *out = lists[minor];
    if (minor < 13)
        return true;
    memcpy(table, runtime, sizeof table);
    *out = (struct kymo_python_lists){(uint16_t)table[INTERPRETERS],
                                      (uint16_t)table[NEXT_INTERPRETER], (uint16_t)table[THREADS]};
    return table[INTERPRETERS] <= UINT16_MAX && table[NEXT_INTERPRETER] <= UINT16_MAX &&
           table[THREADS] <= UINT16_MAX;
}
