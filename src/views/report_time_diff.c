/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/str.h"
#include "views/report_text.h"

/* "-1.23 ms"; of a rate "1.23 ms/s". */
static const char *format(char out[48], double ns, int is_rate)
{
    char text[32];
    double size = fabs(ns);
    uint64_t whole = size < 0x1p63 ? (uint64_t)llround(size) : 1ull << 63;
    snprintf(out, 48, "%s%s%s", ns < 0 && whole ? "-" : "", kymo_format_duration(text, whole),
             is_rate ? "/s" : "");
    return out;
}

void kymo_report_print_time_diff(const kymo_terminal *t, const kymo_time_diff *diff,
                                 kymo_report_by by, const char *what, size_t top)
{
    size_t n;
    const kymo_time_diff_row *rows = kymo_time_diff_rows(diff, &n);
    const kymo_time_diff_row *all = kymo_time_diff_all(diff);
    int is_rate = kymo_time_diff_is_rate(diff);
    size_t shown = top && top < n ? top : n;
    char change[48], before[48], after[48], low[48], high[48];
    fprintf(t->to, "%s of %s time to %s: %s%s", format(before, all->before, is_rate), what,
            format(after, all->after, is_rate), all->change > 0 ? "+" : "",
            format(change, all->change, is_rate));
    if (all->before > 0)
        fprintf(t->to, " (%+.1f %%)", all->change / all->before * 100);
    fputs(is_rate ? ", for each second of the recording: not both were recorded to the "
                    "program's end\n\n"
                  : "\n\n",
          t->to);
    fprintf(t->to, "%s    change  95 %%                          before       after    %s%s\n",
            kymo_terminal_dim(t), kymo_report_heading_of(by), kymo_terminal_reset(t));
    for (size_t i = 0; i < shown; i++) {
        const kymo_time_diff_row *row = &rows[i];
        char interval[104];
        snprintf(interval, sizeof interval, "%s to %s", format(low, row->low, is_rate),
                 format(high, row->high, is_rate));
        fprintf(
            t->to, "%s%10s  %-24s  %10s  %10s  %s", row->is_significant ? "" : kymo_terminal_dim(t),
            format(change, row->change, is_rate), interval, format(before, row->before, is_rate),
            format(after, row->after, is_rate), row->is_significant ? "  " : "~ ");
        kymo_terminal_print(t, row->name, 0, KYMO_CUT_END, 0);
        fputs(row->is_significant ? "" : kymo_terminal_reset(t), t->to);
        const kymo_report_row place = {
            .name = row->name, .file = row->file, .module = row->module, .line = row->line};
        kymo_str where = {0};
        kymo_report_where_of(&place, by, &where);
        if (where.len > 0) {
            fprintf(t->to, "  %s", kymo_terminal_dim(t));
            kymo_terminal_print(t, kymo_str_cstr(&where), 0, KYMO_CUT_START, 0);
            fputs(kymo_terminal_reset(t), t->to);
        }
        kymo_str_deinit(&where);
        fputc('\n', t->to);
    }
    if (shown < n)
        fprintf(t->to, "%s... and %zu more (--top 0 shows all)%s\n", kymo_terminal_dim(t),
                n - shown, kymo_terminal_reset(t));
    fprintf(t->to,
            "%s~: not statistically significant; intervals are of sampling alone, not of how one "
            "run differs from the next%s\n",
            kymo_terminal_dim(t), kymo_terminal_reset(t));
}
