/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "cli/report_heap.h"
#include "recorder/report_json.h"

static void format(char out[40], int64_t bytes)
{
    char text[32];
    uint64_t size = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
    snprintf(out, 40, "%s%s", bytes < 0 ? "-" : "", kymo_format_bytes(text, size));
}

static void print_line(const kymo_terminal *t, const kymo_profile *profile, const kymo_ledger *line,
                       int64_t whole)
{
    char text[40];
    char low[32];
    char high[32];
    const char *name = kymo_profile_string(profile, line->name);
    format(text, line->bytes);
    fprintf(t->to, "%10s  %5.1f %%  %s%s", text,
            whole > 0 ? (double)line->bytes / (double)whole * 100 : 0, *name ? "  " : "",
            kymo_ledger_line_word(line->line));
    if (*name) {
        fputs(" of ", t->to);
        kymo_terminal_print(t, name, 0, KYMO_CUT_END, 0);
    }
    if (line->low || line->high)
        fprintf(t->to, "  %s95 %%: %s to %s%s", kymo_terminal_dim(t),
                kymo_format_bytes(low, line->low), kymo_format_bytes(high, line->high),
                kymo_terminal_reset(t));
    fputc('\n', t->to);
}

static int64_t whole_of(const kymo_ledger *lines, size_t n, uint32_t process)
{
    for (size_t i = 0; i < n; i++)
        if (lines[i].process == process && kymo_ledger_line_is_sum(lines[i].line) &&
            lines[i].name == 0)
            return lines[i].bytes;
    return 0;
}

static void print_infos(const kymo_terminal *t, const kymo_profile *profile)
{
    size_t n;
    const kymo_memory_info *infos = kymo_profile_memory_infos(profile, &n);
    if (n == 0)
        return;
    fprintf(t->to, "\n%s               value  figure%s\n", kymo_terminal_dim(t),
            kymo_terminal_reset(t));
    for (size_t i = 0; i < n; i++) {
        fprintf(t->to, "%20" PRIu64 "  ", infos[i].value);
        kymo_terminal_print(t, kymo_profile_string(profile, infos[i].key), 0, KYMO_CUT_END, 0);
        if (kymo_profile_count(profile, KYMO_TABLE_PROCESSES) > 1)
            fprintf(t->to, "  %spid %d%s", kymo_terminal_dim(t),
                    (int)kymo_profile_process(profile, infos[i].process)->pid,
                    kymo_terminal_reset(t));
        fputc('\n', t->to);
    }
}

void kymo_report_print_ledger(const kymo_terminal *t, const kymo_profile *profile)
{
    size_t n;
    const kymo_ledger *lines = kymo_profile_ledger(profile, &n);
    uint64_t origin_ns = kymo_profile_meta(profile)->origin_monotonic_ns;
    char time[32];
    if (n == 0)
        fputs("no ledger in this recording: this version reads them, and makes none\n", t->to);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || lines[i].process != lines[i - 1].process) {
            const kymo_process *process = kymo_profile_process(profile, lines[i].process);
            fprintf(t->to, "%s%sresident in ", i ? "\n" : "", kymo_terminal_bold(t));
            kymo_terminal_print(t, process->name, 0, KYMO_CUT_END, 0);
            fprintf(t->to, " (%d) at %s%s\n", (int)process->pid,
                    kymo_format_duration(
                        time, lines[i].time_ns > origin_ns ? lines[i].time_ns - origin_ns : 0),
                    kymo_terminal_reset(t));
        }
        print_line(t, profile, &lines[i], whole_of(lines, n, lines[i].process));
    }
    print_infos(t, profile);
}
