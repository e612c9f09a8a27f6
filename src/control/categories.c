/* SPDX-License-Identifier: Apache-2.0 */
#include "control/categories.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/word_list.h"

#define NAMES_BYTES 300u /* of a message */

void kymo_categories_begin(struct kymo_categories *c)
{
    if (c->rows.len > 2 * c->merged + 1024)
        kymo_categories_merge(c);
    c->processes++;
}

/* Neither a line of a message nor a list of words can have them. */
static void blank_controls(char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < ' ' || *path == 0x7f)
            *path = '?';
}

static kymo_err push(struct kymo_categories *c, const struct kymo_category_row *row)
{
    kymo_err err = row->path ? kymo_vec_push(&c->rows, *row) : KYMO_E_NOMEM;
    if (err != KYMO_OK)
        free(row->path);
    return err;
}

kymo_err kymo_categories_add(struct kymo_categories *c, const char *parent, const char *name,
                             int is_on, int is_quiet)
{
    struct kymo_category_row row = {NULL, c->processes, is_on != 0, 1, is_quiet != 0};
    if (c->merged >= KYMO_CATEGORIES_MAX)
        return KYMO_OK;
    if (asprintf(&row.path, "%s%s%s", parent ? parent : "", parent ? "/" : "", name) < 0)
        return KYMO_E_NOMEM;
    blank_controls(row.path);
    return push(c, &row);
}

static int compare(const void *a, const void *b)
{
    const struct kymo_category_row *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : (x->from > y->from) - (x->from < y->from);
}

void kymo_categories_merge(struct kymo_categories *c)
{
    struct kymo_category_row *rows = c->rows.data;
    size_t kept = 0;
    if (c->rows.len > 0)
        qsort(rows, c->rows.len, sizeof *rows, compare);
    for (size_t i = 0; i < c->rows.len; i++) {
        struct kymo_category_row *last = kept ? &rows[kept - 1] : NULL;
        if (!last || strcmp(last->path, rows[i].path) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        /* A process may have several of one name. */
        if (rows[i].from == 0 || rows[i].from != last->from) {
            last->on += rows[i].on;
            last->of += rows[i].of;
        }
        last->is_quiet &= rows[i].is_quiet;
        last->from = rows[i].from;
        free(rows[i].path);
    }
    for (size_t i = 0; i < kept; i++)
        rows[i].from = 0;
    c->rows.len = c->merged = kept;
}

void kymo_categories_deinit(struct kymo_categories *c)
{
    for (size_t i = 0; i < c->rows.len; i++)
        free(c->rows.data[i].path);
    kymo_vec_deinit(&c->rows);
}

/* ---- as text ---- */

void kymo_categories_write(const struct kymo_categories *c, kymo_str *text)
{
    for (size_t i = 0; i < c->rows.len; i++) {
        const struct kymo_category_row *row = &c->rows.data[i];
        kymo_str_printf(text, "%u %u %u %s\n", row->on, row->of, row->is_quiet, row->path);
    }
}

kymo_err kymo_categories_read(struct kymo_categories *c, char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct kymo_category_row row = {0};
        int at = 0;
        if (sscanf(line, "%u %u %u %n", &row.on, &row.of, &row.is_quiet, &at) < 3 || at == 0 ||
            line[at] == '\0')
            continue;
        row.path = strdup(line + at);
        if (row.path)
            blank_controls(row.path);
        KYMO_TRY(push(c, &row));
    }
    return KYMO_OK;
}

/* ---- against a list ---- */

static int is_known(const struct kymo_categories *c, const struct kymo_word *word)
{
    if (kymo_word_is(word, "all") || kymo_word_is(word, "none"))
        return 1;
    for (size_t i = 0; i < c->rows.len; i++)
        if (kymo_word_is(word, c->rows.data[i].path))
            return 1;
    return 0;
}

int kymo_categories_unknown(const struct kymo_categories *c, const char *list, kymo_str *word)
{
    struct kymo_word w;
    while (kymo_word_list_next(&list, &w)) {
        if (is_known(c, &w))
            continue;
        kymo_str_printf(word, "'%.*s'", (int)(w.len < 100 ? w.len : 100), w.text);
        return 1;
    }
    return 0;
}

void kymo_categories_names(const struct kymo_categories *c, kymo_str *names)
{
    size_t before = names->len;
    for (size_t i = 0; i < c->rows.len; i++) {
        if (names->len - before > NAMES_BYTES) {
            kymo_str_printf(names, " and %zu more", c->rows.len - i);
            return;
        }
        kymo_str_printf(names, "%s%s", i ? ", " : "", c->rows.data[i].path);
    }
}
