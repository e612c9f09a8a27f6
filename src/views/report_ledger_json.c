/* SPDX-License-Identifier: Apache-2.0 */
#include "views/ledger_lines.h"
#include "views/report_json.h"

static void write_ledger_line(kymo_json *j, const kymo_profile *profile,
                              const struct kymo_ledger_shown *shown)
{
    const kymo_ledger *row = shown->row;
    int is_exact = row->low == 0 && row->high == 0;
    kymo_json_begin_object(j);
    kymo_json_key_i64(j, "pid", kymo_profile_process(profile, row->process)->pid);
    kymo_report_json_moment(j, "at_s", profile, row->time_ns);
    kymo_json_key_bool(j, "last", !shown->is_most);
    kymo_json_key_cstr(j, "line", kymo_ledger_line_word(row->line));
    kymo_report_json_text(j, "name", shown->name);
    kymo_json_key_i64(j, "bytes", shown->bytes);
    kymo_report_json_whole(j, "bytes_low", is_exact ? (double)shown->bytes : (double)row->low);
    kymo_report_json_whole(j, "bytes_high", is_exact ? (double)shown->bytes : (double)row->high);
    kymo_json_end_object(j);
}

kymo_err kymo_report_write_memory_json(const kymo_profile *profile,
                                       const kymo_report_selection *selection,
                                       const kymo_report *report, kymo_sink *sink)
{
    size_t n;
    struct kymo_ledger_lines lines;
    KYMO_TRY(kymo_ledger_lines_make(&lines, profile));
    kymo_json *j = kymo_report_json_begin(profile, selection, report, "process", "memory", sink);
    if (!j) {
        kymo_ledger_lines_deinit(&lines);
        return KYMO_E_NOMEM;
    }
    kymo_report_json_heaps(j, profile);
    kymo_json_key_array(j, "ledger");
    for (size_t i = 0; i < lines.list.len; i++)
        write_ledger_line(j, profile, &lines.list.data[i]);
    kymo_json_end_array(j);
    kymo_ledger_lines_deinit(&lines);
    const kymo_memory_info *infos = kymo_profile_memory_infos(profile, &n);
    kymo_json_key_array(j, "figures");
    for (size_t i = 0; i < n; i++) {
        kymo_json_begin_object(j);
        kymo_json_key_i64(j, "pid", kymo_profile_process(profile, infos[i].process)->pid);
        kymo_report_json_moment(j, "at_s", profile, infos[i].time_ns);
        kymo_report_json_text(j, "name", kymo_profile_string(profile, infos[i].key));
        kymo_json_key_u64(j, "value", infos[i].value);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
    kymo_json_key_cstr(j, "unit", "bytes");
    return kymo_report_json_end(j, sink);
}
