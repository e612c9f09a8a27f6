/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbol_strings.h"

#include <string.h>

void kymo_symbol_strings_deinit(kymo_symbol_strings *strings)
{
    kymo_arena_deinit(&strings->arena);
    kymo_index_deinit(&strings->index);
    kymo_vec_deinit(&strings->texts);
    kymo_vec_deinit(&strings->demangled);
    kymo_str_deinit(&strings->scratch);
}

static kymo_err add(kymo_symbol_strings *strings, const char *text, size_t len, uint32_t *position)
{
    uint64_t hash = kymo_hash_bytes(text, len, kymo_hash_secret());
    size_t probe = 0;
    while (kymo_index_find(&strings->index, hash, &probe, position)) {
        const char *known = strings->texts.data[*position];
        if (strncmp(known, text, len) == 0 && known[len] == '\0')
            return KYMO_OK;
    }
    if (strings->texts.len >= UINT32_MAX - 1)
        return KYMO_E_NOMEM;
    const char *copy = kymo_arena_strndup(&strings->arena, text, len);
    if (!copy)
        return KYMO_E_NOMEM;
    *position = (uint32_t)strings->texts.len;
    KYMO_TRY(kymo_vec_reserve(&strings->texts, 1));
    KYMO_TRY(kymo_vec_reserve(&strings->demangled, 1));
    KYMO_TRY(kymo_index_put(&strings->index, hash, *position));
    strings->texts.data[strings->texts.len++] = copy;
    strings->demangled.data[strings->demangled.len++] = NULL;
    return KYMO_OK;
}

const char *kymo_symbol_strings_add(kymo_symbol_strings *strings, const char *text, size_t len)
{
    uint32_t at;
    return add(strings, text, len, &at) == KYMO_OK ? strings->texts.data[at] : NULL;
}

kymo_err kymo_symbol_strings_add_name(kymo_symbol_strings *strings, const char *text,
                                      const char **system, const char **shown)
{
    uint32_t at;
    KYMO_TRY(add(strings, text, strlen(text), &at));
    const char *name = strings->texts.data[at];
    if (!strings->demangled.data[at]) {
        const char *plain = name;
        if (kymo_demangle(name, &strings->scratch)) {
            const kymo_str *s = &strings->scratch;
            plain = kymo_symbol_strings_add(strings, s->data, s->len);
            if (!plain)
                return KYMO_E_NOMEM;
        }
        strings->demangled.data[at] = plain;
    }
    *system = name;
    *shown = strings->demangled.data[at];
    return KYMO_OK;
}
