/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Three digits: weights are usually not integers. */
static void put_objects(kymo_json *j, double objects)
{
    double size = fabs(objects) < 0x1p50 ? fabs(objects) : 0x1p50;
    kymo_json_signed_fixed(j, objects < 0, (uint64_t)llround(size * 1000), 3);
}

static void key_objects(kymo_json *j, const char *key, double objects)
{
    kymo_json_key(j, key);
    put_objects(j, objects);
}

static void write_sum(kymo_json *j, const char *key, const kymo_heap_sum *sum)
{
    kymo_json_key_object(j, key);
    key_objects(j, "objects", sum->objects);
    key_objects(j, "objects_low", sum->objects_low);
    key_objects(j, "objects_high", sum->objects_high);
    kymo_report_json_whole(j, "bytes", sum->bytes);
    kymo_report_json_whole(j, "bytes_low", sum->bytes_low);
    kymo_report_json_whole(j, "bytes_high", sum->bytes_high);
    kymo_json_key_u64(j, "samples", sum->samples);
    kymo_json_end_object(j);
}

/* Pairs of the begin of a bucket, in nanoseconds, and its count. */
static void write_lifetimes(kymo_json *j, const double *lives)
{
    if (!lives)
        return;
    kymo_json_key_array(j, "lifetimes");
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS; i++) {
        if (lives[i] <= 0)
            continue;
        kymo_json_begin_array(j);
        kymo_json_u64(j, i == 0 ? 0 : 1ull << i);
        put_objects(j, lives[i]);
        kymo_json_end_array(j);
    }
    kymo_json_end_array(j);
}

static void write_place(kymo_json *j, const kymo_report_row *row)
{
    kymo_report_json_text(j, "name", row->name);
    kymo_report_json_text(j, "file", row->file);
    kymo_json_key(j, "line");
    if (row->line)
        kymo_json_u64(j, row->line);
    else
        kymo_json_null(j);
    kymo_report_json_text(j, "module", row->module);
}

/* Two numbers for time, two sums for memory. */
static void write_sums(kymo_json *j, uint64_t self, uint64_t total, const kymo_heap_sums *memory)
{
    if (memory) {
        write_sum(j, "self", &memory->self);
        write_sum(j, "total", &memory->total);
    } else {
        kymo_json_key_u64(j, "self", self);
        kymo_json_key_u64(j, "total", total);
    }
}

static void write_functions(kymo_json *j, const kymo_report *report, size_t top)
{
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    kymo_json_key_array(j, "functions");
    for (size_t i = 0; i < n && (top == 0 || i < top); i++) {
        kymo_json_begin_object(j);
        write_place(j, &rows[i]);
        write_sums(j, rows[i].self, rows[i].total, rows[i].memory);
        write_lifetimes(j, rows[i].lifetimes);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
}

static void write_tree(kymo_json *j, const kymo_report *report, size_t top)
{
    size_t n;
    size_t n_rows;
    const kymo_report_node *nodes = kymo_report_nodes(report, &n);
    const kymo_report_row *rows = kymo_report_rows(report, &n_rows);
    kymo_json_key_array(j, "tree");
    for (size_t i = 0; i < n && (top == 0 || i < top); i++) {
        kymo_json_begin_object(j);
        kymo_json_key_u64(j, "depth", nodes[i].depth);
        write_place(j, &rows[nodes[i].row]);
        write_sums(j, nodes[i].self, nodes[i].total, nodes[i].memory);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
}

static void write_memory(kymo_json *j, const kymo_profile *profile, const kymo_heap_totals *all)
{
    kymo_report_json_moment(j, "at_s", profile, all->at_ns);
    if (all->view == KYMO_HEAP_LEAKS) {
        kymo_report_json_seconds(j, "min_age_s", all->min_age_ns);
        write_sum(j, "young", &all->young);
    }
    if (all->view == KYMO_HEAP_LIFETIMES)
        write_sum(j, "elsewhere", &all->elsewhere);
    write_lifetimes(j, all->lifetimes);
    kymo_json_key_bool(j, "partial", all->is_partial != 0);
    write_sum(j, "allocated", &all->allocated);
    write_sum(j, "total", &all->sum);
}

kymo_err kymo_report_write_json(const kymo_profile *profile, const kymo_report_selection *selection,
                                const kymo_report *report, const char *by, const char *mode,
                                size_t top, int with_tree, kymo_sink *sink)
{
    const kymo_heap_totals *memory = kymo_heap_report_totals(report);
    kymo_json *j = kymo_report_json_begin(profile, selection, report, by, mode, sink);
    if (!j)
        return KYMO_E_NOMEM;
    if (memory)
        kymo_report_json_heaps(j, profile);
    write_functions(j, report, top);
    if (with_tree)
        write_tree(j, report, top);
    if (memory)
        write_memory(j, profile, memory);
    kymo_json_key_cstr(j, "unit", kymo_report_type(report)->unit);
    if (!memory)
        kymo_json_key_u64(j, "total", kymo_report_total(report));
    return kymo_report_json_end(j, sink);
}

/* The begin of a bucket, in nanoseconds, and its count before and after. */
static void write_lifetimes_diff(kymo_json *j, const double *const lives[2])
{
    kymo_json_key_array(j, "lifetimes");
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS; i++) {
        if (lives[0][i] <= 0 && lives[1][i] <= 0)
            continue;
        kymo_json_begin_array(j);
        kymo_json_u64(j, i == 0 ? 0 : 1ull << i);
        put_objects(j, lives[0][i]);
        put_objects(j, lives[1][i]);
        kymo_json_end_array(j);
    }
    kymo_json_end_array(j);
}

static void write_diff_row(kymo_json *j, const kymo_report_diff_row *row, int is_heap)
{
    void (*put)(kymo_json *, const char *, double) =
        row->lifetimes[0] ? key_objects : kymo_report_json_whole;
    kymo_json_begin_object(j);
    const kymo_report_row place = {
        .name = row->name, .file = row->file, .module = row->module, .line = row->line};
    write_place(j, &place);
    put(j, "before", row->before);
    put(j, "after", row->after);
    put(j, "change", row->change);
    put(j, "low", row->low);
    put(j, "high", row->high);
    if (is_heap)
        key_objects(j, "objects", row->objects);
    if (row->lifetimes[0])
        write_lifetimes_diff(j, row->lifetimes);
    kymo_json_key_bool(j, "significant", row->is_significant != 0);
    if ((row->before == 0) != (row->after == 0))
        kymo_json_key_cstr(j, "only", row->before == 0 ? "after" : "before");
    kymo_json_end_object(j);
}

kymo_json *kymo_report_json_begin_diff(const char *mode, const char *by,
                                       const kymo_report_selection selections[2], kymo_sink *sink)
{
    kymo_json *j = malloc(sizeof *j);
    if (!j)
        return NULL;
    kymo_json_init(j, sink);
    kymo_json_begin_object(j);
    kymo_json_key_u64(j, "format", 1);
    kymo_json_key_cstr(j, "mode", mode);
    kymo_json_key_cstr(j, "by", by);
    if (selections) {
        kymo_report_json_selection(j, "selection_before", &selections[0]);
        kymo_report_json_selection(j, "selection_after", &selections[1]);
    }
    return j;
}

kymo_err kymo_report_write_diff_json(const kymo_report_diff *diff,
                                     const kymo_report_selection selections[2], const char *by,
                                     const char *mode, size_t top, kymo_sink *sink)
{
    size_t n;
    const kymo_report_diff_row *rows = kymo_report_diff_rows(diff, &n);
    const kymo_sample_type *type = kymo_report_diff_type(diff);
    static const char *const words[] = {
        [KYMO_DIFF_AS_IS] = "none", [KYMO_DIFF_BY_TIME] = "time", [KYMO_DIFF_BY_TOTAL] = "total"};
    char unit[64];
    int is_amount = type->adds == KYMO_ADDS_AMOUNT;
    int is_heap = is_amount && type->count_name != NULL;
    kymo_json *j = kymo_report_json_begin_diff(mode, by, selections, sink);
    if (!j)
        return KYMO_E_NOMEM;
    int is_rate = kymo_report_diff_normalized(diff) == KYMO_DIFF_BY_TIME;
    snprintf(unit, sizeof unit, "%.40s%s", type->unit, is_rate ? "/second" : "");
    if (!is_amount)
        kymo_json_key_cstr(j, "unit", unit);
    kymo_json_key_cstr(j, "normalized", words[kymo_report_diff_normalized(diff)]);
    kymo_json_key_array(j, "changes");
    for (size_t i = 0; i < n && (top == 0 || i < top); i++)
        write_diff_row(j, &rows[i], is_heap);
    kymo_json_end_array(j);
    kymo_json_key(j, "total");
    write_diff_row(j, kymo_report_diff_all(diff), is_heap);
    if (is_amount)
        kymo_json_key_cstr(j, "unit", unit);
    return kymo_report_json_end(j, sink);
}
