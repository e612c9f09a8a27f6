/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "profile/tables.h"

#include <string.h>

/* Valid text is interned without a copy; invalid text is copied and corrected first. NUL is
 * valid UTF-8, but it would hide the rest of the text from readers of C strings, so it counts as
 * invalid. */
static int is_clean(const char *text, size_t len)
{
    return len <= KYMO_STRING_MAX && memchr(text, 0, len) == NULL &&
           kymo_utf8_valid_prefix(text, len) == len;
}

static size_t clean_copy(char out[KYMO_STRING_MAX + 1], const char *text, size_t len)
{
    size_t written = 0;
    while (len > 0) {
        size_t part = strnlen(text, len);
        written += kymo_utf8_copy(out + written, KYMO_STRING_MAX + 1 - written, text, part);
        if (part == len || written + 3 > KYMO_STRING_MAX)
            break;
        memcpy(out + written, "\xef\xbf\xbd", 4);
        written += 3;
        text += part + 1;
        len -= part + 1;
    }
    return written;
}

static uint32_t find(const kymo_profile *p, const char *text, size_t len, uint64_t hash)
{
    uint32_t id;
    for (size_t probe = 0; kymo_index_find(&p->string_index, hash, &probe, &id);) {
        const kymo_text *t = &p->strings.data[id];
        if (t->len == len && memcmp(t->data, text, len) == 0)
            return id;
    }
    return KYMO_NONE;
}

uint32_t kymo_profile_find_string(const kymo_profile *profile, const char *text, size_t len)
{
    return find(profile, text, len, kymo_hash_bytes(text, len, kymo_hash_secret()));
}

static kymo_err intern_clean(kymo_profile *p, const char *text, size_t len, uint32_t *string)
{
    uint64_t hash = kymo_hash_bytes(text, len, kymo_hash_secret());
    uint32_t id = find(p, text, len, hash);
    if (id != KYMO_NONE) {
        *string = id;
        return KYMO_OK;
    }
    if (p->strings.len >= KYMO_STRINGS_MAX || p->string_bytes + len > KYMO_STRING_BYTES_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&p->strings, 1));
    char *copy = kymo_arena_strndup(&p->arena, text, len);
    if (!copy)
        return KYMO_E_NOMEM;
    id = (uint32_t)p->strings.len;
    KYMO_TRY(kymo_index_put(&p->string_index, hash, id));
    p->strings.data[p->strings.len++] = (kymo_text){copy, (uint32_t)len};
    p->string_bytes += len;
    *string = id;
    return KYMO_OK;
}

kymo_err kymo_profile_add_string(kymo_profile *profile, const char *text, size_t len,
                                 uint32_t *string)
{
    if (len == 0)
        text = "";
    if (!text)
        return KYMO_E_INVALID;
    if (is_clean(text, len))
        return intern_clean(profile, text, len, string);
    char clean[KYMO_STRING_MAX + 1];
    return intern_clean(profile, clean, clean_copy(clean, text, len), string);
}

kymo_err kymo_profile_intern(kymo_profile *profile, const char *text, uint32_t *string,
                             const char **copy)
{
    uint32_t id;
    KYMO_TRY(kymo_profile_add_string(profile, text, text ? strlen(text) : 0, &id));
    if (string)
        *string = id;
    if (copy)
        *copy = profile->strings.data[id].data;
    return KYMO_OK;
}

const char *kymo_profile_string(const kymo_profile *profile, uint32_t string)
{
    return string < profile->strings.len ? profile->strings.data[string].data : "";
}

size_t kymo_profile_string_len(const kymo_profile *profile, uint32_t string)
{
    return string < profile->strings.len ? profile->strings.data[string].len : 0;
}
