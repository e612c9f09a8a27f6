/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/attr.h"
#include "views/report_text.h"

static const char *per_of(const kymo_report_diff *diff)
{
    return kymo_report_diff_normalized(diff) == KYMO_DIFF_BY_TIME ? "/s" : "";
}

static const char *normalization_of(const kymo_report_diff *diff)
{
    switch (kymo_report_diff_normalized(diff)) {
    case KYMO_DIFF_BY_TIME:
        return ", for each second of the recording (--normalize)\n\n";
    case KYMO_DIFF_BY_TOTAL:
        return ", with what is after scaled to the same total (--normalize)\n\n";
    default:
        return "\n\n";
    }
}

/* Of times that are sums and have no error, how much of what was before a change is. */
static void print_whole(const kymo_terminal *t, const kymo_report_diff *diff)
{
    const kymo_sample_type *type = kymo_report_diff_type(diff);
    const kymo_report_diff_row *all = kymo_report_diff_all(diff);
    const char *per = per_of(diff);
    const char *what = type->adds == KYMO_ADDS_ELAPSED    ? " of wall time"
                       : type->adds == KYMO_ADDS_CPU_TIME ? " of CPU time"
                                                          : "";
    int is_heap = type->adds == KYMO_ADDS_AMOUNT && type->count_name != NULL;
    char change[40], before[40], after[40], low[40], high[40];
    fprintf(t->to, "%s%s%s to %s%s: %s%s%s", kymo_report_format(before, type, all->before), per,
            what, kymo_report_format(after, type, all->after), per, all->change > 0 ? "+" : "",
            kymo_report_format(change, type, all->change), per);
    if (!is_heap && all->before > 0)
        fprintf(t->to, " (%+.1f %%)", all->change / all->before * 100);
    if (all->low != all->high)
        fprintf(t->to, " (95 %%: %s to %s)%s", kymo_report_format(low, type, all->low),
                kymo_report_format(high, type, all->high),
                all->is_significant ? "" : ", which may be chance");
    fputs(normalization_of(diff), t->to);
}

static const char *mark_of(const kymo_report_diff_row *row)
{
    if (!row->is_significant)
        return "~ ";
    return row->before == 0 ? "+ " : row->after == 0 ? "- " : "  ";
}

static void print_row(const kymo_terminal *t, const kymo_sample_type *type, const char *per,
                      const kymo_report_diff_row *row, kymo_report_by by)
{
    const double values[] = {row->change, row->low, row->high, row->before, row->after};
    char texts[KYMO_ARRAY_LEN(values)][48];
    char interval[104] = "";
    for (size_t i = 0; i < KYMO_ARRAY_LEN(values); i++) {
        char text[40];
        snprintf(texts[i], sizeof texts[i], "%s%s", kymo_report_format(text, type, values[i]), per);
    }
    if (row->low != row->high)
        snprintf(interval, sizeof interval, "%s to %s", texts[1], texts[2]);
    fprintf(t->to, "%s%10s  %-24s  %10s  %10s  %s", row->is_significant ? "" : kymo_terminal_dim(t),
            texts[0], interval, texts[3], texts[4], mark_of(row));
    const kymo_report_row place = {
        .name = row->name, .file = row->file, .module = row->module, .line = row->line};
    kymo_report_print_place(t, &place, by, row->is_significant ? "" : kymo_terminal_reset(t));
}

void kymo_report_print_diff(const kymo_terminal *t, const kymo_report_diff *diff, kymo_report_by by,
                            size_t top)
{
    size_t n;
    const kymo_report_diff_row *rows = kymo_report_diff_rows(diff, &n);
    const kymo_report_diff_row *all = kymo_report_diff_all(diff);
    const kymo_sample_type *type = kymo_report_diff_type(diff);
    int is_amount = type->adds == KYMO_ADDS_AMOUNT;
    size_t shown = top && top < n ? top : n;
    print_whole(t, diff);
    fprintf(t->to, "%s    change  95 %%                          before       after    %s%s\n",
            kymo_terminal_dim(t), kymo_report_heading_of(by), kymo_terminal_reset(t));
    for (size_t i = 0; i < shown; i++)
        if (rows[i].change != 0 || rows[i].is_significant || rows[i].low != rows[i].high)
            print_row(t, type, per_of(diff), &rows[i], by);
    kymo_report_print_more(t, n - shown, 0, " (--top 0 shows all)");
    fprintf(t->to, "%s+: new; -: gone", kymo_terminal_dim(t));
    if (!is_amount || all->low != all->high)
        fprintf(t->to, "; ~: %s",
                is_amount ? "0 is in the interval, the change may be chance"
                          : "not statistically significant; intervals are of sampling alone, not "
                            "of how one run differs from the next");
    fprintf(t->to, "%s\n", kymo_terminal_reset(t));
}
