/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_markers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/f64.h"
#include "base/str.h"
#include "kymo/marker_abi.h"
#include "views/report_text.h"

/* " 3 lost", after the given separator; nothing for 0. */
static void put_count(FILE *to, const char **before, uint64_t count, const char *what)
{
    if (count == 0)
        return;
    fprintf(to, "%s%" PRIu64 " %s", *before, count, what);
    *before = ", ";
}

static void put_cut(FILE *to, const char **before, uint64_t count)
{
    put_count(to, before, count, count == 1 ? "text cut" : "texts cut");
}

void kymo_report_print_marker_totals(const kymo_terminal *t, const kymo_marker_report *report)
{
    const kymo_marker_row *all = kymo_marker_report_all(report);
    const char *before = "markers: ";
    if (all->count == 0)
        fputs("markers: none", t->to);
    else
        put_count(t->to, &before, all->count, "recorded");
    before = ", ";
    put_count(t->to, &before, all->unfinished, "unfinished");
    put_count(t->to, &before, all->lost, "lost (buffers full)");
    put_count(t->to, &before, all->capped, "above their type's limit");
    put_cut(t->to, &before, all->cut);
    fputc('\n', t->to);
}

struct counts {
    double of[KYMO_HISTOGRAM_BUCKETS];
};

static struct counts counts_of(const kymo_marker_row *row)
{
    struct counts counts;
    for (uint32_t i = 0; i < KYMO_HISTOGRAM_BUCKETS; i++)
        counts.of[i] = (double)row->histogram[i];
    return counts;
}

static void print_times(const kymo_terminal *t, const kymo_marker_row *row)
{
    const uint64_t times[] = {row->total_ns, row->p50_ns, row->p95_ns, row->max_ns};
    char text[32];
    for (size_t i = 0; i < KYMO_ARRAY_LEN(times); i++)
        fprintf(t->to, " %10s", row->intervals ? kymo_format_duration(text, times[i]) : "-");
}

static void print_row(const kymo_terminal *t, const kymo_marker_row *row, uint32_t first,
                      uint32_t end, size_t width)
{
    const char *before = "  ";
    fprintf(t->to, "%8" PRIu64, row->count);
    print_times(t, row);
    fputs("  ", t->to);
    kymo_report_print_histogram(t, counts_of(row).of, first, end);
    fprintf(t->to, "%*s", (int)(width - (end - first) + 2), "");
    kymo_terminal_print(t, row->name);
    fputs(kymo_terminal_dim(t), t->to);
    if (row->category) {
        fputs("  ", t->to);
        kymo_terminal_print(t, row->category);
        before = ", ";
    }
    put_count(t->to, &before, row->unfinished, "unfinished");
    put_count(t->to, &before, row->lost, "lost");
    put_count(t->to, &before, row->capped, "above the limit");
    put_cut(t->to, &before, row->cut);
    fprintf(t->to, "%s\n", kymo_terminal_reset(t));
}

static uint64_t start_of_bucket(uint32_t bucket)
{
    return bucket == 0 ? 0 : (uint64_t)KYMO_HISTOGRAM_FIRST_NS << (bucket - 1);
}

void kymo_report_print_markers(const kymo_terminal *t, const kymo_marker_report *report,
                               const char *heading, size_t top)
{
    size_t n;
    uint32_t first;
    uint32_t end;
    char from[32];
    char to[32];
    const kymo_marker_row *rows = kymo_marker_report_rows(report, &n);
    size_t shown = top && top < n ? top : n;
    if (n == 0)
        return;
    kymo_report_find_axis(counts_of(kymo_marker_report_all(report)).of, KYMO_HISTOGRAM_BUCKETS,
                          &first, &end);
    size_t width = end - first > strlen("histogram") ? end - first : strlen("histogram");
    fprintf(t->to, "%s   count      total        p50        p95        max  %-*s  %s%s\n",
            kymo_terminal_dim(t), (int)width, "histogram", heading, kymo_terminal_reset(t));
    for (size_t i = 0; i < shown; i++)
        print_row(t, &rows[i], first, end, width);
    kymo_report_print_more(t, n - shown, 0, " (--top 0 shows all)");
    if (end > first)
        fprintf(t->to,
                "%shistograms: from %s up to %s, each column twice as long as the one before%s\n",
                kymo_terminal_dim(t), kymo_format_duration(from, start_of_bucket(first)),
                kymo_format_duration(to, start_of_bucket(end)), kymo_terminal_reset(t));
}

static const char *format_value(char out[40], int64_t value, int is_f64, int is_bytes)
{
    char text[32];
    double number = kymo_f64_of(value);
    if (is_f64 && (!is_bytes || !(fabs(number) < 9e18))) {
        snprintf(out, 40, "%.6g", number);
        return out;
    }
    if (is_f64)
        value = (int64_t)number;
    if (!is_bytes) {
        snprintf(out, 40, "%" PRId64, value);
        return out;
    }
    uint64_t bytes = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    snprintf(out, 40, "%s%s", value < 0 ? "-" : "", kymo_format_bytes(text, bytes));
    return out;
}

static void print_counter(const kymo_terminal *t, const kymo_profile *profile,
                          const kymo_counter_row *row)
{
    const kymo_counter *c = kymo_profile_counter(profile, row->counter);
    const char *unit = kymo_profile_string(profile, c->unit);
    int is_bytes = strcmp(unit, "bytes") == 0;
    int is_f64 = (c->flags & KYMO_COUNTER_IS_F64) != 0;
    const int64_t values[] = {row->first, row->last, row->min, row->max};
    char text[40];
    for (size_t i = 0; i < KYMO_ARRAY_LEN(values); i++)
        fprintf(t->to, "%s%12s", i ? " " : "", format_value(text, values[i], is_f64, is_bytes));
    fprintf(t->to, " %11" PRIu64 "  ", row->operations);
    kymo_terminal_print(t, kymo_profile_string(profile, c->name));
    if (*unit && !is_bytes) {
        fprintf(t->to, "  %s", kymo_terminal_dim(t));
        kymo_terminal_print(t, unit);
        fputs(kymo_terminal_reset(t), t->to);
    }
    if (kymo_profile_count(profile, KYMO_TABLE_PROCESSES) > 1)
        fprintf(t->to, "  %spid %d%s", kymo_terminal_dim(t),
                (int)kymo_profile_process(profile, c->process)->pid, kymo_terminal_reset(t));
    fputc('\n', t->to);
}

void kymo_report_print_counters(const kymo_terminal *t, const kymo_profile *profile,
                                const kymo_marker_report *report)
{
    size_t n;
    const kymo_counter_row *rows = kymo_marker_report_counters(report, &n);
    if (n == 0)
        return;
    fprintf(t->to,
            "%s\n       first         last          min          max  operations  counter%s\n",
            kymo_terminal_dim(t), kymo_terminal_reset(t));
    for (size_t i = 0; i < n; i++)
        print_counter(t, profile, &rows[i]);
}
