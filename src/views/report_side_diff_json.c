/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_json.h"
#include "views/report_side_diff.h"

/* Each value before and after, and the change, which may be beyond the numbers that are exact. */
static void write_pair(kymo_json *j, const char *const keys[3], const uint64_t values[2])
{
    kymo_json_key_u64(j, keys[0], values[0]);
    kymo_json_key_u64(j, keys[1], values[1]);
    kymo_json_key_i64(j, keys[2], (int64_t)(values[1] - values[0]));
}

static void write_only(kymo_json *j, int has_before, int has_after)
{
    if (has_before != has_after)
        kymo_json_key_cstr(j, "only", has_before ? "before" : "after");
}

static void write_marker(kymo_json *j, const struct kymo_marker_diff_row *row)
{
    static const char *const durations[] = {"before", "after", "change"};
    static const char *const counts[] = {"count_before", "count_after", "count_change"};
    kymo_json_begin_object(j);
    kymo_report_json_text(j, "name", row->name);
    kymo_report_json_text(j, "category", row->category);
    write_pair(j, durations, row->total_ns);
    write_pair(j, counts, row->count);
    write_only(j, row->count[0] > 0, row->count[1] > 0);
    kymo_json_end_object(j);
}

kymo_err kymo_report_write_marker_diff_json(const struct kymo_marker_diff *diff,
                                            const kymo_report_selection selections[2],
                                            const char *by, size_t top, kymo_sink *sink)
{
    kymo_json *j = kymo_report_json_begin_diff("markers", by, selections, sink);
    if (!j)
        return KYMO_E_NOMEM;
    kymo_json_key_cstr(j, "unit", "nanoseconds");
    kymo_json_key_array(j, "changes");
    for (size_t i = 0; i < diff->rows.len && (top == 0 || i < top); i++)
        write_marker(j, &diff->rows.data[i]);
    kymo_json_end_array(j);
    kymo_json_key(j, "total");
    write_marker(j, &diff->all);
    return kymo_report_json_end(j, sink);
}

/* A process has no pid where it is not. */
static void write_pid(kymo_json *j, const char *key, int32_t pid)
{
    kymo_json_key(j, key);
    if (pid)
        kymo_json_i64(j, pid);
    else
        kymo_json_null(j);
}

static void write_line(kymo_json *j, const struct kymo_ledger_diff_row *row)
{
    kymo_json_begin_object(j);
    kymo_report_json_text(j, "process", row->process);
    write_pid(j, "pid_before", row->pid[0]);
    write_pid(j, "pid_after", row->pid[1]);
    kymo_json_key_bool(j, "last", !row->is_most);
    kymo_json_key_cstr(j, "line", kymo_ledger_line_word(row->line));
    kymo_report_json_text(j, "name", row->part);
    kymo_json_key_i64(j, "before", row->bytes[0]);
    kymo_json_key_i64(j, "after", row->bytes[1]);
    kymo_json_key_i64(j, "change", row->bytes[1] - row->bytes[0]);
    write_only(j, row->bytes[0] != 0, row->bytes[1] != 0);
    kymo_json_end_object(j);
}

kymo_err kymo_report_write_ledger_diff_json(const struct kymo_ledger_diff *diff,
                                            const kymo_report_selection selections[2],
                                            kymo_sink *sink)
{
    kymo_json *j = kymo_report_json_begin_diff("memory", "process", selections, sink);
    if (!j)
        return KYMO_E_NOMEM;
    kymo_json_key_cstr(j, "unit", "bytes");
    kymo_json_key_array(j, "changes");
    for (size_t i = 0; i < diff->rows.len; i++)
        write_line(j, &diff->rows.data[i]);
    kymo_json_end_array(j);
    return kymo_report_json_end(j, sink);
}
