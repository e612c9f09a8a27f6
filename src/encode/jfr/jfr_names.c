/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_names.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 200, NAME_MAX_BYTES = TEXT_MAX + 56 };

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Each run of other characters is one underscore. */
static size_t put_identifier(char *out, const char *text)
{
    size_t len = 0;
    if (*text == '\0' || is_digit(*text))
        out[len++] = '_';
    for (; *text && len < TEXT_MAX; text++) {
        if (is_letter(*text) || is_digit(*text))
            out[len++] = *text;
        else if (len == 0 || out[len - 1] != '_')
            out[len++] = '_';
    }
    return len;
}

static uint64_t hash_of(const char *name)
{
    return kymo_hash_bytes(name, strlen(name), kymo_hash_secret());
}

static int has(const kymo_jfr_names *names, const char *name)
{
    uint32_t at;
    for (size_t probe = 0; kymo_index_find(&names->index, hash_of(name), &probe, &at);)
        if (strcmp(names->names.data[at], name) == 0)
            return 1;
    return 0;
}

const char *kymo_jfr_names_make(kymo_jfr_names *names, kymo_arena *arena, const char *prefix,
                                const char *text)
{
    char name[NAME_MAX_BYTES];
    size_t len = strlen(prefix);
    memcpy(name, prefix, len);
    len += put_identifier(name + len, text);
    name[len] = '\0';
    for (unsigned i = 2; has(names, name); i++)
        snprintf(name + len, sizeof name - len, "_%u", i);
    const char *copy = kymo_arena_strndup(arena, name, strlen(name));
    if (!copy || kymo_vec_push(&names->names, copy) != KYMO_OK ||
        kymo_index_put(&names->index, hash_of(copy), (uint32_t)names->names.len - 1) != KYMO_OK)
        return NULL;
    return copy;
}

void kymo_jfr_names_deinit(kymo_jfr_names *names)
{
    kymo_vec_deinit(&names->names);
    kymo_index_deinit(&names->index);
}
