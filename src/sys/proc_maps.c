/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/proc_maps.h"

#include <string.h>

const char *kymo_proc_number(const char *text, unsigned base, uint64_t *value)
{
    uint64_t sum = 0;
    const char *at = text;
    for (;; at++) {
        char c = *at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(sum, base, &sum) || __builtin_add_overflow(sum, digit, &sum))
            return NULL;
    }
    *value = sum;
    return at > text ? at : NULL;
}

/* A number and the character behind it. NULL stays NULL. */
static const char *take(const char *at, unsigned base, char behind, uint64_t *value)
{
    at = at ? kymo_proc_number(at, base, value) : NULL;
    return at && *at == behind ? at + 1 : NULL;
}

static const char *take_access(const char *at, struct kymo_proc_mapping *out)
{
    if (!at || strlen(at) < 5 || at[4] != ' ')
        return NULL;
    out->is_readable = at[0] == 'r';
    out->is_writable = at[1] == 'w';
    out->is_executable = at[2] == 'x';
    out->is_shared = at[3] == 's' || at[3] == 'S';
    return at + 5;
}

static void take_path(char *path, struct kymo_proc_mapping *out)
{
    static const char deleted[] = " (deleted)";
    const size_t suffix = sizeof deleted - 1;
    path += strspn(path, " ");
    path[strcspn(path, "\n")] = '\0';
    size_t len = strlen(path);
    out->path = path;
    out->is_deleted = len > suffix && strcmp(path + len - suffix, deleted) == 0;
    out->path_len = out->is_deleted ? len - suffix : len;
}

int kymo_proc_mapping_parse(char *line, struct kymo_proc_mapping *out)
{
    const char *at = take(line, 16, '-', &out->start);
    at = take(at, 16, ' ', &out->end);
    at = take_access(at, out);
    at = take(at, 16, ' ', &out->offset);
    at = take(at, 16, ':', &out->device_major);
    at = take(at, 16, ' ', &out->device_minor);
    at = at ? kymo_proc_number(at, 10, &out->inode) : NULL;
    if (!at || out->end <= out->start)
        return 0;
    take_path(line + (at - line), out);
    return 1;
}
