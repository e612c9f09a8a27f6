/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "views/ledger_lines.h"
#include "views/report_json.h"

/* Whole bytes or nanoseconds: of estimates, too, which are not known to the byte. */
static void key_whole(kymo_json *j, const char *key, double value)
{
    kymo_json_key(j, key);
    double size = fabs(value) < 0x1p62 ? value : copysign(0x1p62, value);
    kymo_json_i64(j, (int64_t)llround(size));
}

/* Three digits: a weight is hardly ever a whole number. */
static void key_objects(kymo_json *j, const char *key, double objects)
{
    kymo_json_key(j, key);
    double size = fabs(objects) < 0x1p50 ? fabs(objects) : 0x1p50;
    kymo_json_signed_fixed(j, objects < 0, (uint64_t)llround(size * 1000), 3);
}

static void key_seconds(kymo_json *j, const char *key, uint64_t ns)
{
    kymo_json_key(j, key);
    kymo_json_fixed(j, ns, 9);
}

/* Since the recording's start; null for the end. */
static void key_moment(kymo_json *j, const char *key, const kymo_profile *profile, uint64_t at_ns)
{
    uint64_t origin_ns = kymo_profile_meta(profile)->origin_monotonic_ns;
    kymo_json_key(j, key);
    if (at_ns == KYMO_HEAP_END)
        kymo_json_null(j);
    else
        kymo_json_fixed(j, at_ns > origin_ns ? at_ns - origin_ns : 0, 9);
}

static void write_sum(kymo_json *j, const char *key, const kymo_heap_sum *sum)
{
    kymo_json_key(j, key);
    kymo_json_begin_object(j);
    key_objects(j, "objects", sum->objects);
    key_objects(j, "objects_low", sum->objects_low);
    key_objects(j, "objects_high", sum->objects_high);
    key_whole(j, "bytes", sum->bytes);
    key_whole(j, "bytes_low", sum->bytes_low);
    key_whole(j, "bytes_high", sum->bytes_high);
    kymo_json_key_u64(j, "samples", sum->samples);
    kymo_json_end_object(j);
}

/* Pairs of where a bucket begins, in nanoseconds, and how many are in it. */
static void write_lifetimes(kymo_json *j, const double *lives)
{
    if (!lives)
        return;
    kymo_json_key(j, "lifetimes");
    kymo_json_begin_array(j);
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS; i++) {
        if (lives[i] <= 0)
            continue;
        kymo_json_begin_array(j);
        kymo_json_u64(j, i == 0 ? 0 : 1ull << i);
        kymo_json_fixed(j, (uint64_t)llround(fmin(lives[i], 0x1p50) * 1000), 3);
        kymo_json_end_array(j);
    }
    kymo_json_end_array(j);
}

static void write_place(kymo_json *j, const char *name, const char *file, uint32_t line,
                        const char *module)
{
    kymo_report_json_text(j, "name", name);
    kymo_report_json_text(j, "file", file);
    kymo_json_key(j, "line");
    if (line)
        kymo_json_u64(j, line);
    else
        kymo_json_null(j);
    kymo_report_json_text(j, "module", module);
}

static void write_heap(kymo_json *j, const kymo_profile *profile, uint32_t process)
{
    const kymo_heap *heap = kymo_profile_heap(profile, process);
    if (!heap)
        return;
    kymo_json_begin_object(j);
    kymo_json_key(j, "pid");
    kymo_json_i64(j, kymo_profile_process(profile, process)->pid);
    kymo_json_key_u64(j, "rate", heap->rate);
    kymo_json_key_u64(j, "count", heap->count);
    kymo_json_key_u64(j, "bytes", heap->bytes);
    kymo_json_key_u64(j, "lost", heap->lost);
    kymo_json_key_u64(j, "lost_frees", heap->lost_frees);
    kymo_json_key(j, "partial");
    kymo_json_bool(j, heap->is_partial != 0);
    kymo_report_json_text(j, "allocator", kymo_profile_string(profile, heap->allocator));
    kymo_report_json_text(j, "not_seen", kymo_profile_string(profile, heap->not_seen));
    kymo_json_end_object(j);
}

static void write_heaps(kymo_json *j, const kymo_profile *profile)
{
    kymo_json_key(j, "heaps");
    kymo_json_begin_array(j);
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++)
        write_heap(j, profile, i);
    kymo_json_end_array(j);
}

static void write_rows(kymo_json *j, const kymo_report *heap, size_t top)
{
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(heap, &n);
    kymo_json_key(j, "functions");
    kymo_json_begin_array(j);
    for (size_t i = 0; i < n && (top == 0 || i < top); i++) {
        kymo_json_begin_object(j);
        write_place(j, rows[i].name, rows[i].file, rows[i].line, rows[i].module);
        write_sum(j, "self", &rows[i].memory->self);
        write_sum(j, "total", &rows[i].memory->total);
        write_lifetimes(j, rows[i].lifetimes);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
}

static void write_tree(kymo_json *j, const kymo_report *heap, size_t top)
{
    size_t n;
    size_t n_rows;
    const kymo_report_node *nodes = kymo_report_nodes(heap, &n);
    const kymo_report_row *rows = kymo_report_rows(heap, &n_rows);
    kymo_json_key(j, "tree");
    kymo_json_begin_array(j);
    for (size_t i = 0; i < n && (top == 0 || i < top); i++) {
        const kymo_report_row *row = &rows[nodes[i].row];
        kymo_json_begin_object(j);
        kymo_json_key_u64(j, "depth", nodes[i].depth);
        write_place(j, row->name, row->file, row->line, row->module);
        write_sum(j, "self", &nodes[i].memory->self);
        write_sum(j, "total", &nodes[i].memory->total);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
}

static kymo_err end(kymo_json *j, kymo_sink *sink)
{
    kymo_json_end_object(j);
    kymo_err err = kymo_json_finish(j);
    free(j);
    return err == KYMO_OK ? kymo_sink_write(sink, "\n", 1) : err;
}

static kymo_err finish(kymo_json *j, kymo_sink *sink)
{
    kymo_json_key_cstr(j, "unit", "bytes");
    return end(j, sink);
}

kymo_err kymo_report_write_heap_json(const kymo_profile *profile, const kymo_report *report,
                                     const kymo_report *heap, const char *by, const char *mode,
                                     size_t top, int with_tree, kymo_sink *sink)
{
    const kymo_heap_totals *all = kymo_heap_report_totals(heap);
    kymo_json *j = malloc(sizeof *j);
    if (!j)
        return KYMO_E_NOMEM;
    kymo_json_init(j, sink);
    kymo_report_json_head(j, profile, report, by, mode);
    write_heaps(j, profile);
    write_rows(j, heap, top);
    if (with_tree)
        write_tree(j, heap, top);
    key_moment(j, "at_s", profile, all->at_ns);
    if (all->view == KYMO_HEAP_LEAKS) {
        key_seconds(j, "min_age_s", all->min_age_ns);
        write_sum(j, "young", &all->young);
    }
    if (all->view == KYMO_HEAP_LIFETIMES)
        write_sum(j, "elsewhere", &all->elsewhere);
    write_lifetimes(j, all->lifetimes);
    kymo_json_key(j, "partial");
    kymo_json_bool(j, all->is_partial != 0);
    write_sum(j, "allocated", &all->allocated);
    write_sum(j, "total", &all->sum);
    return finish(j, sink);
}

static void write_ledger_line(kymo_json *j, const kymo_profile *profile,
                              const struct kymo_ledger_shown *shown)
{
    const kymo_ledger *row = shown->row;
    int is_exact = row->low == 0 && row->high == 0;
    kymo_json_begin_object(j);
    kymo_json_key(j, "pid");
    kymo_json_i64(j, kymo_profile_process(profile, row->process)->pid);
    key_moment(j, "at_s", profile, row->time_ns);
    kymo_json_key(j, "last");
    kymo_json_bool(j, !shown->is_most);
    kymo_json_key_cstr(j, "line", kymo_ledger_line_word(row->line));
    kymo_report_json_text(j, "name", shown->name);
    kymo_json_key(j, "bytes");
    kymo_json_i64(j, shown->bytes);
    key_whole(j, "bytes_low", is_exact ? (double)shown->bytes : (double)row->low);
    key_whole(j, "bytes_high", is_exact ? (double)shown->bytes : (double)row->high);
    kymo_json_end_object(j);
}

kymo_err kymo_report_write_memory_json(const kymo_profile *profile, const kymo_report *report,
                                       kymo_sink *sink)
{
    size_t n;
    struct kymo_ledger_lines lines;
    KYMO_TRY(kymo_ledger_lines_make(&lines, profile));
    kymo_json *j = malloc(sizeof *j);
    if (!j) {
        kymo_ledger_lines_deinit(&lines);
        return KYMO_E_NOMEM;
    }
    kymo_json_init(j, sink);
    kymo_report_json_head(j, profile, report, "process", "memory");
    write_heaps(j, profile);
    kymo_json_key(j, "ledger");
    kymo_json_begin_array(j);
    for (size_t i = 0; i < lines.list.len; i++)
        write_ledger_line(j, profile, &lines.list.data[i]);
    kymo_json_end_array(j);
    kymo_ledger_lines_deinit(&lines);
    const kymo_memory_info *infos = kymo_profile_memory_infos(profile, &n);
    kymo_json_key(j, "figures");
    kymo_json_begin_array(j);
    for (size_t i = 0; i < n; i++) {
        kymo_json_begin_object(j);
        kymo_json_key(j, "pid");
        kymo_json_i64(j, kymo_profile_process(profile, infos[i].process)->pid);
        key_moment(j, "at_s", profile, infos[i].time_ns);
        kymo_report_json_text(j, "name", kymo_profile_string(profile, infos[i].key));
        kymo_json_key_u64(j, "value", infos[i].value);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
    return finish(j, sink);
}

static void write_diff_row(kymo_json *j, const kymo_report_diff_row *row, int is_amount)
{
    kymo_json_begin_object(j);
    write_place(j, row->name, row->file, row->line, row->module);
    key_whole(j, "before", row->before);
    key_whole(j, "after", row->after);
    key_whole(j, "change", row->change);
    key_whole(j, "low", row->low);
    key_whole(j, "high", row->high);
    if (is_amount)
        key_objects(j, "objects", row->objects);
    kymo_json_key(j, "significant");
    kymo_json_bool(j, row->is_significant != 0);
    kymo_json_end_object(j);
}

kymo_err kymo_report_write_diff_json(const kymo_report_diff *diff, const char *by, const char *mode,
                                     size_t top, kymo_sink *sink)
{
    size_t n;
    const kymo_report_diff_row *rows = kymo_report_diff_rows(diff, &n);
    const kymo_sample_type *type = kymo_report_diff_type(diff);
    int is_amount = type->adds == KYMO_ADDS_AMOUNT;
    kymo_json *j = malloc(sizeof *j);
    if (!j)
        return KYMO_E_NOMEM;
    kymo_json_init(j, sink);
    kymo_json_begin_object(j);
    kymo_json_key_u64(j, "format", 1);
    kymo_json_key_cstr(j, "mode", mode);
    kymo_json_key_cstr(j, "by", by);
    if (!is_amount)
        kymo_json_key_cstr(j, "unit",
                           kymo_report_diff_is_rate(diff) ? "nanoseconds/second" : type->unit);
    kymo_json_key(j, "changes");
    kymo_json_begin_array(j);
    for (size_t i = 0; i < n && (top == 0 || i < top); i++)
        write_diff_row(j, &rows[i], is_amount);
    kymo_json_end_array(j);
    kymo_json_key(j, "total");
    write_diff_row(j, kymo_report_diff_all(diff), is_amount);
    if (is_amount)
        kymo_json_key_cstr(j, "unit", type->unit);
    return end(j, sink);
}
