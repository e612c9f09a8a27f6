/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "base/f64.h"
#include "kymo/marker_abi.h"
#include "views/report_json.h"

/* A time of intervals; null if there are none. */
static void key_time(kymo_json *j, const char *key, const kymo_marker_row *row, uint64_t ns)
{
    kymo_json_key(j, key);
    if (row->intervals)
        kymo_json_u64(j, ns);
    else
        kymo_json_null(j);
}

/* Pairs of the begin of a bucket and its count, for buckets that are not empty. */
static void write_histogram(kymo_json *j, const kymo_marker_row *row)
{
    kymo_json_key_array(j, "histogram");
    for (uint32_t i = 0; i < KYMO_HISTOGRAM_BUCKETS; i++) {
        if (row->histogram[i] == 0)
            continue;
        kymo_json_begin_array(j);
        kymo_json_u64(j, i == 0 ? 0 : (uint64_t)KYMO_HISTOGRAM_FIRST_NS << (i - 1));
        kymo_json_u64(j, row->histogram[i]);
        kymo_json_end_array(j);
    }
    kymo_json_end_array(j);
}

static void write_losses(kymo_json *j, const kymo_marker_row *row)
{
    kymo_json_key_u64(j, "lost", row->lost);
    kymo_json_key_u64(j, "capped", row->capped);
    kymo_json_key_u64(j, "cut", row->cut);
}

static void write_row(kymo_json *j, const kymo_marker_row *row)
{
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "name", row->name);
    kymo_report_json_text(j, "category", row->category);
    kymo_json_key_u64(j, "count", row->count);
    kymo_json_key_u64(j, "intervals", row->intervals);
    kymo_json_key_u64(j, "unfinished", row->unfinished);
    kymo_json_key_u64(j, "total", row->total_ns);
    key_time(j, "min", row, row->min_ns);
    key_time(j, "p50", row, row->p50_ns);
    key_time(j, "p95", row, row->p95_ns);
    key_time(j, "max", row, row->max_ns);
    write_histogram(j, row);
    write_losses(j, row);
    kymo_json_end_object(j);
}

static void write_counter(kymo_json *j, const kymo_profile *profile, const kymo_counter_row *row)
{
    static const char *const kinds[] = {
        [KYMO_COUNTER_TOTAL] = "total",
        [KYMO_COUNTER_DELTA] = "delta",
        [KYMO_COUNTER_GAUGE] = "gauge",
    };
    const kymo_counter *c = kymo_profile_counter(profile, row->counter);
    const int64_t values[] = {row->first, row->last, row->min, row->max};
    static const char *const keys[] = {"first", "last", "min", "max"};
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "name", kymo_profile_string(profile, c->name));
    kymo_report_json_text(j, "unit", kymo_profile_string(profile, c->unit));
    kymo_report_json_text(j, "kind", c->kind < KYMO_ARRAY_LEN(kinds) ? kinds[c->kind] : NULL);
    kymo_json_key_i64(j, "pid", kymo_profile_process(profile, c->process)->pid);
    kymo_json_key_u64(j, "values", row->count);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(keys); i++) {
        kymo_json_key(j, keys[i]);
        if (c->flags & KYMO_COUNTER_IS_F64)
            kymo_json_f64(j, kymo_f64_of(values[i]));
        else
            kymo_json_i64(j, values[i]);
    }
    kymo_json_key_u64(j, "operations", row->operations);
    kymo_json_end_object(j);
}

static void write_tables(kymo_json *j, const kymo_profile *profile,
                         const kymo_marker_report *markers, size_t top)
{
    size_t n;
    const kymo_marker_row *rows = kymo_marker_report_rows(markers, &n);
    kymo_json_key_array(j, "markers");
    for (size_t i = 0; i < n && (top == 0 || i < top); i++)
        write_row(j, &rows[i]);
    kymo_json_end_array(j);
    const kymo_counter_row *counters = kymo_marker_report_counters(markers, &n);
    kymo_json_key_array(j, "counters");
    for (size_t i = 0; i < n; i++)
        write_counter(j, profile, &counters[i]);
    kymo_json_end_array(j);
}

kymo_err kymo_report_write_markers_json(const kymo_profile *profile,
                                        const kymo_report_selection *selection,
                                        const kymo_report *report,
                                        const kymo_marker_report *markers, const char *by,
                                        size_t top, kymo_sink *sink)
{
    const kymo_marker_row *all = kymo_marker_report_all(markers);
    kymo_json *j = kymo_report_json_begin(profile, selection, report, by, "markers", sink);
    if (!j)
        return KYMO_E_NOMEM;
    write_tables(j, profile, markers, top);
    kymo_json_key_object(j, "dropped");
    write_losses(j, all);
    kymo_json_end_object(j);
    kymo_json_key_cstr(j, "unit", "nanoseconds");
    kymo_json_key_u64(j, "count", all->count);
    kymo_json_key_u64(j, "total", all->total_ns);
    return kymo_report_json_end(j, sink);
}
