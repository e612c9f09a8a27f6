/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_text.c - the one way of text into a copy: every string says here what it is, so that none
 * gets past the sanitizer.
 */
#include <string.h>

#include "select/copy_state.h"

static kymo_err add(struct kymo_copy *c, kymo_text_role role, const char *text, size_t len,
                    uint32_t *id)
{
    if (!c->sanitizer)
        return kymo_profile_add_string(c->to, text, len, id);
    c->text.len = 0;
    KYMO_TRY(kymo_sanitize(c->sanitizer, role, text, len, &c->text));
    return kymo_profile_add_string(c->to, kymo_str_cstr(&c->text), c->text.len, id);
}

kymo_err kymo_copy_string(struct kymo_copy *c, kymo_text_role role, uint32_t string, uint32_t *id)
{
    return add(c, role, kymo_profile_string(c->from, string),
               kymo_profile_string_len(c->from, string), id);
}

kymo_err kymo_copy_text(struct kymo_copy *c, kymo_text_role role, const char *text,
                        const char **copy)
{
    uint32_t id;
    *copy = NULL;
    if (!text)
        return KYMO_OK;
    KYMO_TRY(add(c, role, text, strlen(text), &id));
    *copy = kymo_profile_string(c->to, id);
    return KYMO_OK;
}

kymo_err kymo_copy_argv(struct kymo_copy *c, const char *const *argv, uint32_t *argc,
                        const char **list)
{
    if (c->sanitizer && *argc > 1)
        *argc = 1;
    for (uint32_t i = 0; i < *argc; i++)
        KYMO_TRY(
            kymo_copy_text(c, i == 0 ? KYMO_TEXT_PROGRAM : KYMO_TEXT_VALUE, argv[i], &list[i]));
    return KYMO_OK;
}
