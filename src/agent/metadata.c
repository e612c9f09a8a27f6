/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metadata.h"

#include <string.h>

#include "agent/url.h"
#include "base/str.h"

static int is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    const size_t len = strlen(name);
    return len > 0 && len < KYMO_METADATA_NAME_MAX && strspn(name, allowed) == len;
}

static uint32_t find(const struct kymo_metadata *m, const char *name)
{
    uint32_t i = 0;
    while (i < m->n && strcmp(m->items[i].name, name) != 0)
        i++;
    return i;
}

kymo_err kymo_metadata_put(struct kymo_metadata *m, const char *name, const char *value)
{
    if (!is_name(name))
        return KYMO_E_INVALID;
    if (value[0] == '\0')
        return KYMO_OK;
    uint32_t i = find(m, name);
    if (i == KYMO_METADATA_MAX)
        return KYMO_E_FULL;
    char *to = m->items[i].value;
    strcpy(m->items[i].name, name);
    to[kymo_text_make_printable(
        to, kymo_utf8_copy(to, KYMO_METADATA_VALUE_MAX, value, strlen(value)))] = '\0';
    if (i == m->n)
        m->n++;
    return KYMO_OK;
}

void kymo_metadata_offer(struct kymo_metadata *m, const char *name, const char *value)
{
    (void)!kymo_metadata_put(m, name, value);
}

const char *kymo_metadata_get(const struct kymo_metadata *m, const char *name)
{
    uint32_t i = find(m, name);
    return i < m->n ? m->items[i].value : NULL;
}

void kymo_metadata_add(struct kymo_metadata *m, const struct kymo_metadata *more)
{
    for (uint32_t i = 0; i < more->n; i++)
        kymo_metadata_offer(m, more->items[i].name, more->items[i].value);
}

void kymo_metadata_offer_list(struct kymo_metadata *m, const char *list)
{
    char name[KYMO_METADATA_NAME_MAX];
    char value[KYMO_METADATA_VALUE_MAX * 3];
    for (const char *item = list; *item;) {
        item += strspn(item, ", ");
        size_t len = strcspn(item, ",");
        size_t name_len = strcspn(item, "=,");
        size_t trimmed = name_len;
        while (trimmed > 0 && item[trimmed - 1] == ' ')
            trimmed--;
        if (name_len < len &&
            kymo_url_decode((struct kymo_url_part){item, trimmed}, name, sizeof name) == KYMO_OK &&
            kymo_url_decode((struct kymo_url_part){item + name_len + 1, len - name_len - 1}, value,
                            sizeof value) == KYMO_OK)
            kymo_metadata_offer(m, name, value);
        item += len;
    }
}

int kymo_metadata_is_valid(const struct kymo_metadata *m)
{
    if (m->n > KYMO_METADATA_MAX)
        return 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const char *value = m->items[i].value;
        const size_t len = strnlen(value, KYMO_METADATA_VALUE_MAX);
        if (!memchr(m->items[i].name, '\0', KYMO_METADATA_NAME_MAX) || !is_name(m->items[i].name) ||
            len == KYMO_METADATA_VALUE_MAX || kymo_utf8_valid_prefix(value, len) != len)
            return 0;
    }
    return 1;
}
