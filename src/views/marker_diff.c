/* SPDX-License-Identifier: Apache-2.0 */
/* marker_diff.c - the rows of two marker reports, joined by name and category. */
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "views/join_rows.h"
#include "views/side_diff.h"

static const char *category_of(const struct kymo_marker_diff_row *row)
{
    return row->category ? row->category : "";
}

static int compare_keys(const void *a, const void *b)
{
    const struct kymo_marker_diff_row *x = a;
    const struct kymo_marker_diff_row *y = b;
    int names = strcmp(x->name, y->name);
    return names ? names : strcmp(category_of(x), category_of(y));
}

static uint64_t change_of(const uint64_t values[2])
{
    return values[0] > values[1] ? values[0] - values[1] : values[1] - values[0];
}

static int compare_changes(const void *a, const void *b)
{
    const struct kymo_marker_diff_row *x = a;
    const struct kymo_marker_diff_row *y = b;
    uint64_t changes[2] = {change_of(x->total_ns), change_of(y->total_ns)};
    if (changes[0] == changes[1]) {
        changes[0] = change_of(x->count);
        changes[1] = change_of(y->count);
    }
    return changes[0] != changes[1] ? (changes[0] > changes[1] ? -1 : 1) : compare_keys(a, b);
}

static struct kymo_marker_diff_row row_of(const kymo_marker_row *from, int side)
{
    struct kymo_marker_diff_row row = {.name = from->name, .category = from->category};
    row.count[side] = from->count;
    row.total_ns[side] = from->total_ns;
    return row;
}

static void add_row(void *to_row, const void *from_row)
{
    struct kymo_marker_diff_row *to = to_row;
    const struct kymo_marker_diff_row *from = from_row;
    for (int side = 0; side < 2; side++) {
        to->count[side] = kymo_sum(to->count[side], from->count[side]);
        to->total_ns[side] = kymo_sum(to->total_ns[side], from->total_ns[side]);
    }
}

static kymo_err add_report(struct kymo_marker_diff *diff, const kymo_marker_report *report,
                           int side)
{
    size_t n;
    const kymo_marker_row *rows = kymo_marker_report_rows(report, &n);
    const struct kymo_marker_diff_row all = row_of(kymo_marker_report_all(report), side);
    add_row(&diff->all, &all);
    for (size_t i = 0; i < n; i++)
        if (rows[i].count > 0)
            KYMO_TRY(kymo_vec_push(&diff->rows, row_of(&rows[i], side)));
    return KYMO_OK;
}

kymo_err kymo_marker_diff_make(struct kymo_marker_diff *diff,
                               const kymo_marker_report *const reports[2])
{
    *diff = (struct kymo_marker_diff){.all = {.name = ""}};
    for (int side = 0; side < 2; side++) {
        kymo_err err = add_report(diff, reports[side], side);
        if (err != KYMO_OK) {
            kymo_marker_diff_deinit(diff);
            return err;
        }
    }
    diff->rows.len = kymo_join_rows(diff->rows.data, diff->rows.len, sizeof *diff->rows.data,
                                    compare_keys, add_row);
    if (diff->rows.len > 1)
        qsort(diff->rows.data, diff->rows.len, sizeof *diff->rows.data, compare_changes);
    return KYMO_OK;
}

void kymo_marker_diff_deinit(struct kymo_marker_diff *diff)
{
    kymo_vec_deinit(&diff->rows);
}
