/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/mark.h"

#include <string.h>

#define LEVELS 8u /* of parts of parts; who has more has made a circle */

struct word {
    const char *text;
    size_t len;
    int is_off;
};

/* The word that begins at *at, which moves on behind the colon. Returns 0 at the end. */
static int next_word(const char *list, size_t max, size_t *at, struct word *word)
{
    size_t from = *at;
    if (from > max)
        return 0;
    size_t to = from;
    while (to < max && list[to] != '\0' && list[to] != ':')
        to++;
    *at = to < max && list[to] == ':' ? to + 1 : max + 1;
    word->is_off = to > from && list[from] == '-';
    word->text = list + from + word->is_off;
    word->len = to - from - (size_t)word->is_off;
    return 1;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int is_same(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (lower(a[i]) != lower(b[i]))
            return 0;
    return 1;
}

static int is_word(const struct word *word, const char *text)
{
    return word->len == strlen(text) && is_same(word->text, text, word->len);
}

/* Whether the word is this category's path; compared from its end, where its own name is. */
static int is_path_of(const struct word *word, const struct kymo_mark_category *c)
{
    size_t len = word->len;
    for (uint32_t level = 0; c && c->name && level < LEVELS; level++) {
        size_t n = strlen(c->name);
        if (n == 0 || n > len || !is_same(word->text + len - n, c->name, n))
            return 0;
        len -= n;
        c = c->parent;
        if (!c)
            return len == 0;
        if (len == 0 || word->text[--len] != '/')
            return 0;
    }
    return 0;
}

static int is_quiet(const struct kymo_mark_category *c)
{
    return (c->flags & KYMO_CATEGORY_IS_QUIET) != 0;
}

/* What the word makes of a category that has been `on` until now. */
static int apply(const struct word *word, const struct kymo_mark_category *c, int on)
{
    int none = is_word(word, "none");
    int is_off = word->is_off || none;
    int quiet = 0; /* something between the category and what the word means is */
    for (uint32_t level = 0; c && level < LEVELS; level++, c = c->parent) {
        if (is_path_of(word, c))
            return is_off ? 0 : on || !quiet;
        quiet = quiet || is_quiet(c);
    }
    if (none || is_word(word, "all"))
        return is_off ? 0 : on || !quiet;
    return on;
}

int kymo_select_wants(const char *list, size_t max, const struct kymo_mark_category *category)
{
    static const struct word all = {"all", 3, 0};
    size_t at = 0;
    struct word word;
    int on = 0;
    if (max == 0 || list[0] == '\0' || list[0] == '-')
        on = apply(&all, category, 0);
    while (next_word(list, max, &at, &word))
        if (word.len > 0)
            on = apply(&word, category, on);
    return on;
}
