/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/text_numbers.h"

#include <stdlib.h>
#include <string.h>

static uint32_t new_string(kymo_text_numbers *n, const char *text, size_t len)
{
    kymo_proto_bytes(n->to, n->field, text, len);
    return n->count++;
}

kymo_err kymo_text_numbers_init(kymo_text_numbers *n, const kymo_profile *profile, kymo_proto *to,
                                unsigned field, uint32_t count)
{
    *n = (kymo_text_numbers){.p = profile,
                             .to = to,
                             .field = field,
                             .count = count,
                             .of = calloc(profile->strings.len, sizeof(uint32_t))};
    if (!n->of)
        return KYMO_E_NOMEM;
    if (count == 0)
        new_string(n, "", 0);
    return KYMO_OK;
}

void kymo_text_numbers_deinit(kymo_text_numbers *n)
{
    free(n->of);
    kymo_vec_deinit(&n->made);
    kymo_index_deinit(&n->made_index);
    kymo_arena_deinit(&n->arena);
}

uint32_t kymo_text_number(kymo_text_numbers *n, uint32_t string)
{
    const kymo_text *text = &n->p->strings.data[string];
    if (string != 0 && n->of[string] == 0)
        n->of[string] = new_string(n, text->data, text->len);
    return n->of[string];
}

static kymo_err remember(kymo_text_numbers *n, uint64_t hash, const char *text, size_t len,
                         uint32_t number)
{
    struct kymo_text_made made = {{kymo_arena_strndup(&n->arena, text, len), (uint32_t)len},
                                  number};
    if (!made.text.data)
        return KYMO_E_NOMEM;
    KYMO_TRY(kymo_vec_push(&n->made, made));
    return kymo_index_put(&n->made_index, hash, (uint32_t)n->made.len - 1);
}

/* For text that may also be a string of the profile, or was added before. */
uint32_t kymo_text_number_of(kymo_text_numbers *n, const char *text, size_t len)
{
    uint32_t i;
    uint32_t string = kymo_profile_find_string(n->p, text, len);
    if (string != KYMO_NONE)
        return kymo_text_number(n, string);
    uint64_t hash = kymo_hash_bytes(text, len, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&n->made_index, hash, &probe, &i);)
        if (n->made.data[i].text.len == len && memcmp(n->made.data[i].text.data, text, len) == 0)
            return n->made.data[i].number;
    uint32_t number = new_string(n, text, len);
    if (remember(n, hash, text, len, number) != KYMO_OK)
        n->to->failed = 1;
    return number;
}
