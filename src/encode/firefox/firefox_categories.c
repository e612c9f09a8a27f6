/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_categories.c - the categories of code and of markers, in one list; names of colours.
 *
 * Categories of code come first, since frames refer to them by number. A part of a category becomes
 * a subcategory, whose number is not referenced.
 */
#include <stdlib.h>
#include <string.h>

#include "encode/firefox/firefox.h"

/* In the order of kymo_category, without AUTO. The viewer's default is the first grey one. */
static const struct {
    const char *name;
    const char *color;
} code_categories[KYMO_CATEGORY_COUNT - 1] = {
    [KYMO_CATEGORY_OTHER - 1] = {"Other", "grey"},
    [KYMO_CATEGORY_PROGRAM - 1] = {"Program", "green"},
    [KYMO_CATEGORY_LIBRARY - 1] = {"Library", "blue"},
    [KYMO_CATEGORY_LIBC - 1] = {"C library", "lightblue"},
    [KYMO_CATEGORY_GENERATED - 1] = {"Generated code", "purple"},
    [KYMO_CATEGORY_KERNEL - 1] = {"Kernel", "orange"},
    [KYMO_CATEGORY_WAITING - 1] = {"Idle", "transparent"}, /* the viewer recognizes this name */
    [KYMO_CATEGORY_JIT - 1] = {"JIT", "yellow"},
    [KYMO_CATEGORY_PYTHON - 1] = {"Python", "brown"},
};

/* Categories have two colours less than markers. */
static const char *category_color(uint32_t color)
{
    static const char *const names[KYMO_COLOR_COUNT] = {
#define X(name, text) [KYMO_COLOR_##name] = text,
        KYMO_MARK_COLORS(X)
#undef X
    };
    return color == KYMO_COLOR_INK    ? "darkgrey"
           : color == KYMO_COLOR_TEAL ? "lightblue"
           : color < KYMO_COLOR_COUNT ? names[color]
                                      : "grey";
}

const char *kymo_firefox_graph_color(uint32_t color)
{
    static const char *const names[KYMO_COLOR_COUNT] = {
        [KYMO_COLOR_TRANSPARENT] = "grey", [KYMO_COLOR_DARKGREY] = "grey",
        [KYMO_COLOR_LIGHTBLUE] = "blue",   [KYMO_COLOR_BROWN] = "orange",
        [KYMO_COLOR_LIGHTRED] = "red",     [KYMO_COLOR_INK] = "ink",
        [KYMO_COLOR_TEAL] = "teal",
    };
    return color < KYMO_COLOR_COUNT && names[color] ? names[color] : category_color(color);
}

/* A program's category "Other" is the same as that of code: one name, one category. */
static uint32_t code_category(const char *name)
{
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(code_categories); i++)
        if (strcmp(code_categories[i].name, name) == 0)
            return i;
    return KYMO_NONE;
}

kymo_err kymo_firefox_number_categories(kymo_firefox *w)
{
    uint32_t count = kymo_profile_count(w->p, KYMO_TABLE_MARKER_CATEGORIES);
    uint32_t next = KYMO_ARRAY_LEN(code_categories);
    w->marks.category_of = calloc((size_t)count + 1, sizeof *w->marks.category_of);
    if (!w->marks.category_of)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const kymo_marker_category *c = kymo_profile_marker_category(w->p, i);
        if (c->parent != KYMO_NONE)
            continue;
        uint32_t same = code_category(kymo_profile_string(w->p, c->name));
        w->marks.category_of[i] = same != KYMO_NONE ? same : next++;
    }
    for (uint32_t i = 0; i < count; i++) {
        const kymo_marker_category *c = kymo_profile_marker_category(w->p, i);
        if (c->parent != KYMO_NONE)
            w->marks.category_of[i] = w->marks.category_of[c->parent];
    }
    return KYMO_OK;
}

/* Parts refer to their category, so they are sorted by it once. */
struct part {
    uint32_t category; /* number in the file */
    uint32_t name;
};

static int compare_categories(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;
    return (x->category > y->category) - (x->category < y->category);
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;
    int categories = compare_categories(a, b);
    return categories ? categories : (x->name > y->name) - (x->name < y->name);
}

static void put_category(kymo_firefox *w, uint32_t number, const char *name, const char *color,
                         const struct part *parts, size_t part_count)
{
    kymo_json *j = w->json;
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "name", name);
    kymo_json_key_cstr(j, "color", color);
    kymo_json_key_array(j, "subcategories");
    kymo_json_cstr(j, "Other");
    const struct part *p = part_count ? bsearch(&(struct part){number, 0}, parts, part_count,
                                                sizeof *parts, compare_categories)
                                      : NULL;
    while (p && p > parts && p[-1].category == number)
        p--;
    for (; p && p < parts + part_count && p->category == number; p++)
        kymo_json_cstr(j, kymo_profile_string(w->p, p->name));
    kymo_json_end_array(j);
    kymo_json_end_object(j);
}

void kymo_firefox_put_categories(kymo_firefox *w)
{
    uint32_t count = kymo_profile_count(w->p, KYMO_TABLE_MARKER_CATEGORIES);
    struct part *parts = malloc(((size_t)count + 1) * sizeof *parts);
    size_t part_count = 0;
    if (!parts) {
        w->json->err = KYMO_E_NOMEM;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const kymo_marker_category *c = kymo_profile_marker_category(w->p, i);
        if (c->parent != KYMO_NONE)
            parts[part_count++] = (struct part){w->marks.category_of[i], c->name};
    }
    qsort(parts, part_count, sizeof *parts, compare_parts);
    kymo_json_key_array(w->json, "categories");
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(code_categories); i++)
        put_category(w, i, code_categories[i].name, code_categories[i].color, parts, part_count);
    for (uint32_t i = 0; i < count; i++) {
        const kymo_marker_category *c = kymo_profile_marker_category(w->p, i);
        uint32_t number = w->marks.category_of[i];
        if (c->parent == KYMO_NONE && number >= KYMO_ARRAY_LEN(code_categories))
            put_category(w, number, kymo_profile_string(w->p, c->name), category_color(c->color),
                         parts, part_count);
    }
    kymo_json_end_array(w->json);
    free(parts);
}
