/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_side_diff.h"

#include <inttypes.h>

#include "views/report_text.h"

static const kymo_sample_type time_type = {.size = sizeof time_type, .unit = "nanoseconds"};
static const kymo_sample_type bytes_type = {.size = sizeof bytes_type, .unit = "bytes"};

static const char *mark_of(int has_before, int has_after)
{
    return has_before ? (has_after ? "  " : "- ") : "+ ";
}

static const char *format_change(char out[48], const kymo_sample_type *type, double change)
{
    char text[40];
    snprintf(out, 48, "%s%s", change > 0 ? "+" : "", kymo_report_format(text, type, change));
    return out;
}

/* ---- markers ---- */

static void print_all(const kymo_terminal *t, const struct kymo_marker_diff_row *all)
{
    char before[32], after[32], change[48];
    double changed_ns = (double)all->total_ns[1] - (double)all->total_ns[0];
    fprintf(t->to, "markers: %" PRIu64 " to %" PRIu64, all->count[0], all->count[1]);
    if (all->total_ns[0] || all->total_ns[1])
        fprintf(t->to, "; their duration: %s to %s: %s",
                kymo_report_format_whole(before, &time_type, all->total_ns[0]),
                kymo_report_format_whole(after, &time_type, all->total_ns[1]),
                format_change(change, &time_type, changed_ns));
    if (all->total_ns[0] > 0)
        fprintf(t->to, " (%+.1f %%)", changed_ns / (double)all->total_ns[0] * 100);
    fputs("\n\n", t->to);
}

/* Points have no duration. */
static void print_durations(const kymo_terminal *t, const struct kymo_marker_diff_row *row)
{
    char before[32], after[32], change[48];
    if (row->total_ns[0] == 0 && row->total_ns[1] == 0) {
        fprintf(t->to, "%10s  %10s  %10s", "-", "-", "-");
        return;
    }
    fprintf(t->to, "%10s  %10s  %10s",
            format_change(change, &time_type, (double)row->total_ns[1] - (double)row->total_ns[0]),
            kymo_report_format_whole(before, &time_type, row->total_ns[0]),
            kymo_report_format_whole(after, &time_type, row->total_ns[1]));
}

static void print_marker(const kymo_terminal *t, const struct kymo_marker_diff_row *row)
{
    print_durations(t, row);
    fprintf(t->to, "  %+9.0f  %8" PRIu64 "  %8" PRIu64 "  %s",
            (double)row->count[1] - (double)row->count[0], row->count[0], row->count[1],
            mark_of(row->count[0] > 0, row->count[1] > 0));
    kymo_terminal_print(t, row->name);
    if (row->category) {
        fprintf(t->to, "  %s", kymo_terminal_dim(t));
        kymo_terminal_print(t, row->category);
        fputs(kymo_terminal_reset(t), t->to);
    }
    fputc('\n', t->to);
}

void kymo_report_print_marker_diff(const kymo_terminal *t, const struct kymo_marker_diff *diff,
                                   const char *heading, size_t top)
{
    size_t n = diff->rows.len;
    size_t shown = top && top < n ? top : n;
    print_all(t, &diff->all);
    if (n == 0)
        return;
    fprintf(t->to, "%s  duration      before       after      count    before     after    %s%s\n",
            kymo_terminal_dim(t), heading, kymo_terminal_reset(t));
    for (size_t i = 0; i < shown; i++)
        print_marker(t, &diff->rows.data[i]);
    kymo_report_print_more(t, n - shown, 0, " (--top 0 shows all)");
    fprintf(t->to, "%s+: new; -: gone; duration and count are changes%s\n", kymo_terminal_dim(t),
            kymo_terminal_reset(t));
}

/* ---- the RSS breakdown ---- */

static void print_pid(const kymo_terminal *t, int32_t pid)
{
    if (pid)
        fprintf(t->to, "pid %d", (int)pid);
    else
        fputs("nothing", t->to);
}

static void print_head(const kymo_terminal *t, const struct kymo_ledger_diff_row *row)
{
    fprintf(t->to, "%s%s in ", kymo_terminal_bold(t),
            row->is_most ? "most resident" : "resident at the end");
    kymo_terminal_print(t, row->process);
    fputs(" (", t->to);
    print_pid(t, row->pid[0]);
    fputs(" to ", t->to);
    print_pid(t, row->pid[1]);
    fprintf(t->to, ")%s\n%s    change      before       after    line%s\n", kymo_terminal_reset(t),
            kymo_terminal_dim(t), kymo_terminal_reset(t));
}

/* At least a hundredth of the whole: there are many libraries. */
static int is_shown(const struct kymo_ledger_diff_row *row)
{
    return *row->part == '\0' || row->bytes[0] > row->rss[0] / 100 ||
           row->bytes[1] > row->rss[1] / 100;
}

static void print_line(const kymo_terminal *t, const struct kymo_ledger_diff_row *row)
{
    char before[40], after[40], change[48];
    fprintf(t->to, "%10s  %10s  %10s  %s",
            format_change(change, &bytes_type, (double)row->bytes[1] - (double)row->bytes[0]),
            kymo_report_format(before, &bytes_type, (double)row->bytes[0]),
            kymo_report_format(after, &bytes_type, (double)row->bytes[1]),
            row->bytes[0] || row->bytes[1] ? mark_of(row->bytes[0] != 0, row->bytes[1] != 0)
                                           : "  ");
    if (*row->part) {
        fprintf(t->to, "  %s of ", kymo_ledger_line_word(row->line));
        kymo_terminal_print(t, row->part);
        fputc('\n', t->to);
    } else {
        fprintf(t->to, "%-11s  %s%s%s\n", kymo_ledger_line_word(row->line), kymo_terminal_dim(t),
                kymo_ledger_line_meaning(row->line), kymo_terminal_reset(t));
    }
}

void kymo_report_print_ledger_diff(const kymo_terminal *t, const struct kymo_ledger_diff *diff)
{
    const struct kymo_ledger_diff_row *rows = diff->rows.data;
    for (size_t i = 0; i < diff->rows.len; i++) {
        if (i == 0 || !kymo_ledger_diff_is_same_time(&rows[i - 1], &rows[i])) {
            if (i > 0)
                fputc('\n', t->to);
            print_head(t, &rows[i]);
        }
        if (is_shown(&rows[i]))
            print_line(t, &rows[i]);
    }
    fprintf(t->to, "%s+: new; -: gone%s\n", kymo_terminal_dim(t), kymo_terminal_reset(t));
}
