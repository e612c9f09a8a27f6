/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map.c - lines of "START SIZE name", in hexadecimal, with or without 0x.
 *
 * A program appends a line for new code, and never removes one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/code_file.h"
#include "sys/write_all.h"

#define CHUNK 65536u

void kymo_code_entry_name(int fd, const kymo_code_entry *entry,
                          char name[KYMO_CODE_ENTRY_NAME_MAX + 1])
{
    size_t len =
        entry->name_len < KYMO_CODE_ENTRY_NAME_MAX ? entry->name_len : KYMO_CODE_ENTRY_NAME_MAX;
    if (kymo_read_all(fd, name, len, entry->name_at) != len)
        len = 0;
    name[len] = '\0';
}

/* A hexadecimal number followed by spaces; moves *at behind them. */
static int take_hex(const char *line, size_t len, size_t *at, uint64_t *value)
{
    size_t i = *at;
    if (i + 2 < len && line[i] == '0' && (line[i + 1] == 'x' || line[i + 1] == 'X'))
        i += 2;
    size_t first = i;
    *value = 0;
    for (; i < len && i - first < 16; i++) {
        char c = line[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            break;
        *value = *value << 4 | digit;
    }
    if (i == first || i >= len || line[i] != ' ')
        return 0;
    while (i < len && line[i] == ' ')
        i++;
    *at = i;
    return 1;
}

/* A line without its end; `at` is where it begins in the file. */
static kymo_err take_line(const char *line, size_t len, uint64_t at, kymo_code_wanted wanted,
                          void *user, kymo_code_entries *out)
{
    kymo_code_entry e = {0};
    size_t i = 0;
    if (!take_hex(line, len, &i, &e.start) || !take_hex(line, len, &i, &e.size_bytes))
        return KYMO_OK;
    while (len > i && (line[len - 1] == '\r' || line[len - 1] == ' '))
        len--;
    if (len == i || e.size_bytes == 0 || e.start > UINT64_MAX - e.size_bytes ||
        !wanted(user, e.start, e.size_bytes))
        return KYMO_OK;
    e.name_at = at + i;
    e.name_len = (uint32_t)(len - i);
    return kymo_vec_push(out, e);
}

kymo_err kymo_perf_map_read(int fd, kymo_code_wanted wanted, void *user, kymo_code_entries *out,
                            bool *cut)
{
    char *chunk = malloc(CHUNK);
    uint64_t at = 0; /* offset of chunk in the file */
    int skip = 0;    /* inside a line longer than a chunk */
    kymo_err err = chunk ? KYMO_OK : KYMO_E_NOMEM;
    *cut = false;
    while (err == KYMO_OK) {
        size_t n = kymo_read_all(fd, chunk, CHUNK, at);
        if (n == 0) {
            err = errno ? KYMO_E_IO : KYMO_OK;
            break;
        }
        size_t done = 0;
        const char *end;
        while (err == KYMO_OK && (end = memchr(chunk + done, '\n', n - done))) {
            size_t len = (size_t)(end - chunk) - done;
            if (!skip)
                err = take_line(chunk + done, len, at + done, wanted, user, out);
            skip = 0;
            done += len + 1;
        }
        if (done == 0 && n < CHUNK)
            break; /* ended within a line */
        if (done == 0 && !skip) {
            err = take_line(chunk, CHUNK, at, wanted, user, out);
            skip = 1;
        }
        at += done ? done : CHUNK;
        *cut = at >= KYMO_PERF_MAP_BYTES_MAX || out->len >= KYMO_CODE_ENTRIES_MAX;
        if (*cut)
            break;
    }
    free(chunk);
    return err;
}
