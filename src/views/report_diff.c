/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/str.h"
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
                       : all->lifetimes[0]                ? " blocks freed"
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

static int is_uncertain(const kymo_report_diff_row *row)
{
    return !row->is_significant && row->low != row->high;
}

static const char *mark_of(const kymo_report_diff_row *row)
{
    if (is_uncertain(row))
        return "~ ";
    return row->before == 0 ? "+ " : row->after == 0 ? "- " : "  ";
}

static void print_figures(const kymo_terminal *t, const kymo_sample_type *type, const char *per,
                          const kymo_report_diff_row *row)
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
    fprintf(t->to, "%s%10s  %-24s  %10s  %10s  %s", is_uncertain(row) ? kymo_terminal_dim(t) : "",
            texts[0], interval, texts[3], texts[4], mark_of(row));
}

static void print_place(const kymo_terminal *t, const kymo_report_diff_row *row, kymo_report_by by)
{
    const kymo_report_row place = {
        .name = row->name, .file = row->file, .module = row->module, .line = row->line};
    kymo_report_print_place(t, &place, by, is_uncertain(row) ? kymo_terminal_reset(t) : "");
}

/* ---- lifetimes ---- */

/* The buckets that are shown, and the width of their columns. */
struct curves {
    uint32_t first, end;
    int width;
};

static struct curves curves_of(const kymo_report_diff_row *all)
{
    struct curves c = {.width = (int)strlen("before")};
    double both[KYMO_LIFETIME_BUCKETS] = {0};
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS && all->lifetimes[0]; i++)
        both[i] = all->lifetimes[0][i] + all->lifetimes[1][i];
    kymo_report_find_axis(both, KYMO_LIFETIME_BUCKETS, &c.first, &c.end);
    if ((int)(c.end - c.first) > c.width)
        c.width = (int)(c.end - c.first);
    return c;
}

static const char *format_median(char out[32], const double *lifetimes)
{
    uint64_t below_ns = kymo_report_median_below_ns(lifetimes);
    return below_ns ? kymo_format_duration(out, below_ns) : "-";
}

static void print_lifetimes(const kymo_terminal *t, const struct curves *c,
                            const kymo_report_diff_row *row)
{
    char before[32], after[32];
    if (!row->lifetimes[0])
        return;
    fprintf(t->to, "%9s  %9s  ", format_median(before, row->lifetimes[0]),
            format_median(after, row->lifetimes[1]));
    for (int side = 0; side < 2; side++) {
        kymo_report_print_histogram(t, row->lifetimes[side], c->first, c->end);
        fprintf(t->to, "%*s", c->width - (int)(c->end - c->first) + 2, "");
    }
}

static void print_lifetimes_heading(const kymo_terminal *t, const struct curves *c,
                                    const kymo_report_diff_row *all)
{
    if (all->lifetimes[0])
        fprintf(t->to, "%9s  %9s  %-*s  %-*s  ", "median", "to", c->width, "before", c->width,
                "after");
}

static void print_lifetimes_legend(const kymo_terminal *t, const struct curves *c)
{
    char from[32], to[32];
    if (c->end > c->first)
        fprintf(t->to,
                "%slives before and after: each step of a curve is twice the one before, from %s "
                "to %s%s\n",
                kymo_terminal_dim(t), kymo_format_duration(from, c->first ? 1ull << c->first : 0),
                kymo_format_duration(to, 1ull << c->end), kymo_terminal_reset(t));
}

/* Of lifetimes, as many may be freed as before, and live longer. */
static int is_changed(const kymo_report_diff_row *row)
{
    return row->change != 0 || row->is_significant || row->low != row->high ||
           (row->lifetimes[0] && memcmp(row->lifetimes[0], row->lifetimes[1],
                                        KYMO_LIFETIME_BUCKETS * sizeof *row->lifetimes[0]) != 0);
}

void kymo_report_print_diff(const kymo_terminal *t, const kymo_report_diff *diff, kymo_report_by by,
                            size_t top)
{
    size_t n;
    const kymo_report_diff_row *rows = kymo_report_diff_rows(diff, &n);
    const kymo_report_diff_row *all = kymo_report_diff_all(diff);
    const kymo_sample_type *type = kymo_report_diff_type(diff);
    int is_amount = type->adds == KYMO_ADDS_AMOUNT;
    size_t changed = 0;
    struct curves curves = curves_of(all);
    print_whole(t, diff);
    fprintf(t->to, "%s    change  95 %%                          before       after    ",
            kymo_terminal_dim(t));
    print_lifetimes_heading(t, &curves, all);
    fprintf(t->to, "%s%s\n", kymo_report_heading_of(by), kymo_terminal_reset(t));
    for (size_t i = 0; i < n; i++) {
        if (!is_changed(&rows[i]) || (changed++ >= top && top))
            continue;
        print_figures(t, type, per_of(diff), &rows[i]);
        print_lifetimes(t, &curves, &rows[i]);
        print_place(t, &rows[i], by);
    }
    kymo_report_print_more(t, top && changed > top ? changed - top : 0, 0, " (--top 0 shows all)");
    print_lifetimes_legend(t, &curves);
    fprintf(t->to, "%s+: new; -: gone", kymo_terminal_dim(t));
    if (!is_amount || all->low != all->high)
        fprintf(t->to, "; ~: %s",
                is_amount ? "0 is in the interval, the change may be chance"
                          : "not statistically significant; intervals are of sampling alone, not "
                            "of how one run differs from the next");
    fprintf(t->to, "%s\n", kymo_terminal_reset(t));
}
