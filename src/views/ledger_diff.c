/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_diff.c - the lines of two RSS breakdowns, joined by process and line. */
#include <stdlib.h>
#include <string.h>

#include "views/join_rows.h"
#include "views/side_diff.h"

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_times(const struct kymo_ledger_diff_row *x, const struct kymo_ledger_diff_row *y)
{
    int order = strcmp(x->process, y->process);
    order = order ? order : compare_numbers(x->nth, y->nth);
    return order ? order : compare_numbers(y->is_most, x->is_most);
}

int kymo_ledger_diff_is_same_time(const struct kymo_ledger_diff_row *a,
                                  const struct kymo_ledger_diff_row *b)
{
    return compare_times(a, b) == 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct kymo_ledger_diff_row *x = a;
    const struct kymo_ledger_diff_row *y = b;
    int order = compare_times(x, y);
    order = order ? order : compare_numbers(x->line, y->line);
    return order ? order : strcmp(x->part, y->part);
}

static int64_t size_of(const struct kymo_ledger_diff_row *row)
{
    return row->bytes[0] > row->bytes[1] ? row->bytes[0] : row->bytes[1];
}

static int compare_shown(const void *a, const void *b)
{
    const struct kymo_ledger_diff_row *x = a;
    const struct kymo_ledger_diff_row *y = b;
    int order = compare_times(x, y);
    order = order ? order : compare_numbers(x->line, y->line);
    order = order ? order : compare_numbers(*x->part != '\0', *y->part != '\0');
    order = order ? order : compare_numbers(size_of(y), size_of(x));
    return order ? order : strcmp(x->part, y->part);
}

/* ---- one side ---- */

/* Of each process of the profile, which one of its name it is. */
struct name {
    const char *name;
    uint32_t process;
    uint32_t nth;
};

static int compare_names(const void *a, const void *b)
{
    const struct name *x = a;
    const struct name *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : compare_numbers(x->process, y->process);
}

static int compare_processes(const void *a, const void *b)
{
    return compare_numbers(((const struct name *)a)->process, ((const struct name *)b)->process);
}

/* Names by process, for the caller to free; NULL: no memory. */
static struct name *number_names(const kymo_profile *profile, const struct kymo_ledger_lines *lines,
                                 size_t *count)
{
    const struct kymo_ledger_shown *list = lines->list.data;
    struct name *names = malloc((lines->list.len + 1) * sizeof *names);
    size_t n = 0;
    if (!names)
        return NULL;
    for (size_t i = 0; i < lines->list.len; i++)
        if (i == 0 || list[i].row->process != list[i - 1].row->process)
            names[n++] =
                (struct name){.name = kymo_profile_process(profile, list[i].row->process)->name,
                              .process = list[i].row->process};
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i].name, names[i - 1].name) == 0)
            names[i].nth = names[i - 1].nth + 1;
    qsort(names, n, sizeof *names, compare_processes);
    *count = n;
    return names;
}

static kymo_err add_line(struct kymo_ledger_diff *diff, const kymo_profile *profile,
                         const struct kymo_ledger_shown *shown, const struct name *name, int side)
{
    struct kymo_ledger_diff_row row = {.process = name->name,
                                       .part = shown->name,
                                       .nth = name->nth,
                                       .line = shown->row->line,
                                       .is_most = shown->is_most};
    row.pid[side] = kymo_profile_process(profile, name->process)->pid;
    row.bytes[side] = shown->bytes;
    row.rss[side] = shown->rss;
    return kymo_vec_push(&diff->rows, row);
}

/* The lines of the i-th process are from first to end. */
static kymo_err add_process(struct kymo_ledger_diff *diff, const kymo_profile *profile,
                            const struct name *name, size_t first, size_t end, int side)
{
    const struct kymo_ledger_shown *list = diff->lines[side].list.data;
    int has_most = list[first].is_most;
    for (size_t i = first; i < end; i++) {
        KYMO_TRY(add_line(diff, profile, &list[i], name, side));
        if (has_most)
            continue;
        KYMO_TRY(add_line(diff, profile, &list[i], name, side));
        struct kymo_ledger_diff_row *copy = &diff->rows.data[diff->rows.len - 1];
        copy->is_most = 1;
        copy->is_copy = 1;
    }
    return KYMO_OK;
}

static kymo_err add_side(struct kymo_ledger_diff *diff, const kymo_profile *profile, int side)
{
    const struct kymo_ledger_lines *lines = &diff->lines[side];
    const struct kymo_ledger_shown *list = lines->list.data;
    size_t count = 0;
    kymo_err err = KYMO_OK;
    struct name *names = number_names(profile, lines, &count);
    if (!names)
        return KYMO_E_NOMEM;
    for (size_t first = 0, end, at = 0; first < lines->list.len && err == KYMO_OK; first = end) {
        end = first + 1;
        while (end < lines->list.len && list[end].row->process == list[first].row->process)
            end++;
        err = add_process(diff, profile, &names[at++], first, end, side);
    }
    free(names);
    return err;
}

/* ---- both ---- */

/* There may be several breakdowns of one kind: the last one counts. */
static void add_row(void *to_row, const void *from_row)
{
    struct kymo_ledger_diff_row *to = to_row;
    const struct kymo_ledger_diff_row *from = from_row;
    for (int side = 0; side < 2; side++)
        if (from->pid[side]) {
            to->pid[side] = from->pid[side];
            to->bytes[side] = from->bytes[side];
            to->rss[side] = from->rss[side];
        }
    to->is_copy &= from->is_copy;
}

static size_t end_of_time(const struct kymo_ledger_diff *diff, size_t first)
{
    size_t end = first + 1;
    while (end < diff->rows.len &&
           kymo_ledger_diff_is_same_time(&diff->rows.data[first], &diff->rows.data[end]))
        end++;
    return end;
}

/* Rows of one time that are copies only say the same as those of the last breakdown. A side that
 * lacks a line still has a sum and a process. */
static void tidy(struct kymo_ledger_diff *diff)
{
    struct kymo_ledger_diff_row *rows = diff->rows.data;
    size_t kept = 0;
    for (size_t first = 0, end; first < diff->rows.len; first = end) {
        struct kymo_ledger_diff_row whole = {.is_copy = 1};
        end = end_of_time(diff, first);
        for (size_t i = first; i < end; i++)
            add_row(&whole, &rows[i]);
        for (size_t i = first; i < end && !whole.is_copy; i++) {
            memcpy(rows[i].pid, whole.pid, sizeof whole.pid);
            memcpy(rows[i].rss, whole.rss, sizeof whole.rss);
            rows[kept++] = rows[i];
        }
    }
    diff->rows.len = kept;
}

static void join(struct kymo_ledger_diff *diff)
{
    struct kymo_ledger_diff_row *rows = diff->rows.data;
    diff->rows.len = kymo_join_rows(rows, diff->rows.len, sizeof *rows, compare_keys, add_row);
    tidy(diff);
    if (diff->rows.len > 1)
        qsort(rows, diff->rows.len, sizeof *rows, compare_shown);
}

kymo_err kymo_ledger_diff_make(struct kymo_ledger_diff *diff, const kymo_profile *const profiles[2])
{
    kymo_err err = KYMO_OK;
    *diff = (struct kymo_ledger_diff){.rows = {0}};
    for (int side = 0; side < 2 && err == KYMO_OK; side++)
        err = kymo_ledger_lines_make(&diff->lines[side], profiles[side]);
    for (int side = 0; side < 2 && err == KYMO_OK; side++)
        err = add_side(diff, profiles[side], side);
    if (err == KYMO_OK)
        join(diff);
    else
        kymo_ledger_diff_deinit(diff);
    return err;
}

void kymo_ledger_diff_deinit(struct kymo_ledger_diff *diff)
{
    for (int side = 0; side < 2; side++)
        kymo_ledger_lines_deinit(&diff->lines[side]);
    kymo_vec_deinit(&diff->rows);
}
