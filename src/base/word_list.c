/* SPDX-License-Identifier: Apache-2.0 */
#include "base/word_list.h"

#include <string.h>
#include <strings.h>

static int is_word(const char *text, size_t len)
{
    int is_off = len > 0 && text[0] == '-';
    text += is_off;
    len -= (size_t)is_off;
    if (len == 0 || text[0] == '-')
        return 0;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || text[i] == ',')
            return 0;
    return !(is_off && len == 4 && strncasecmp(text, "none", 4) == 0);
}

int kymo_word_list_is(const char *text, size_t len)
{
    size_t from = 0;
    if (len == 0)
        return 1;
    for (size_t to = 0; to <= len; to++) {
        if (to < len && text[to] != ':')
            continue;
        if (!is_word(text + from, to - from))
            return 0;
        from = to + 1;
    }
    return 1;
}

int kymo_word_list_next(const char **at, struct kymo_word *word)
{
    const char *text = *at;
    if (text[0] == '\0')
        return 0;
    size_t len = strcspn(text, ":");
    *at = text + len + (text[len] == ':');
    word->is_off = text[0] == '-';
    word->text = text + word->is_off;
    word->len = len - (size_t)word->is_off;
    return 1;
}

int kymo_word_is(const struct kymo_word *word, const char *name)
{
    return strlen(name) == word->len && strncasecmp(word->text, name, word->len) == 0;
}
