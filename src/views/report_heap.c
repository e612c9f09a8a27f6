/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_heap.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "views/report_text.h"

enum { NAME_MIN = 20 };

static const char *format(char out[40], double bytes)
{
    char text[32];
    double size = fabs(bytes);
    uint64_t whole = size < 0x1p63 ? (uint64_t)llround(size) : 1ull << 63;
    snprintf(out, 40, "%s%s", bytes < 0 && whole ? "-" : "", kymo_format_bytes(text, whole));
    return out;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole * 100 : 0;
}

static int is_exact(const kymo_heap_totals *all)
{
    return all->rate <= 1 || all->view == KYMO_HEAP_MAPPED;
}

static int is_by_objects(const kymo_heap_totals *all)
{
    return all->view == KYMO_HEAP_LIFETIMES || all->view == KYMO_HEAP_TEMPORARY;
}

/* ---- totals ---- */

/* "1.2 MiB (95 %: 1.0 MiB to 1.4 MiB) in 1200 blocks (95 %: 1000 to 1400)" */
static void print_sum(const kymo_terminal *t, const kymo_heap_sum *sum, const char *what)
{
    char text[40];
    char low[40];
    char high[40];
    int objects_vary = sum->objects_low != sum->objects_high;
    if (sum->samples == 0 && sum->bytes_high > 0) {
        fprintf(t->to, "no sample: at most %s in %.0f %ss (95 %%)", format(high, sum->bytes_high),
                ceil(sum->objects_high), what);
        return;
    }
    fputs(format(text, sum->bytes), t->to);
    if (sum->bytes_low != sum->bytes_high)
        fprintf(t->to, " (95 %%: %s to %s)", format(low, sum->bytes_low),
                format(high, sum->bytes_high));
    fprintf(t->to, " in %.0f %s%s", sum->objects, what, llround(sum->objects) == 1 ? "" : "s");
    if (objects_vary)
        fprintf(t->to, " (95 %%: %.0f to %.0f)", floor(sum->objects_low), ceil(sum->objects_high));
}

static void print_moment(const kymo_terminal *t, const kymo_profile *profile, uint64_t at_ns)
{
    char text[32];
    uint64_t origin_ns = kymo_profile_meta(profile)->origin_monotonic_ns;
    if (at_ns == KYMO_HEAP_END)
        fputs("at exit", t->to);
    else
        fprintf(t->to, "at %s",
                kymo_format_duration(text, at_ns > origin_ns ? at_ns - origin_ns : 0));
}

static void print_what(const kymo_terminal *t, const kymo_profile *profile,
                       const kymo_heap_totals *all)
{
    char text[40];
    fputs("below:    ", t->to);
    print_sum(t, &all->sum, all->view == KYMO_HEAP_MAPPED ? "mapping" : "block");
    switch (all->view) {
    case KYMO_HEAP_ALLOC:
        fputs(", everything allocated", t->to);
        break;
    case KYMO_HEAP_PEAK:
        fputs(", live at the peak: ", t->to);
        print_moment(t, profile, all->at_ns);
        break;
    case KYMO_HEAP_LEAKS:
        fputs(", live at exit", t->to);
        if (all->min_age_ns)
            fprintf(t->to, " for at least %s", kymo_format_duration(text, all->min_age_ns));
        if (all->young.samples)
            fprintf(t->to, "; left out as young: %s (--min-age=0 shows them)",
                    format(text, all->young.bytes));
        break;
    case KYMO_HEAP_LIFETIMES:
        fputs(", freed", t->to);
        if (all->elsewhere.samples)
            fprintf(t->to, ", %.0f of them by another thread than the one that allocated them",
                    all->elsewhere.objects);
        break;
    case KYMO_HEAP_TEMPORARY:
        fprintf(t->to, ", freed at once: %.1f %% of all blocks",
                share(all->sum.objects, all->allocated.objects));
        break;
    default:
        fputs(", live ", t->to);
        print_moment(t, profile, all->at_ns);
    }
    fputc('\n', t->to);
}

static void print_missing(const kymo_terminal *t, const kymo_profile *profile,
                          const kymo_heap_totals *all, const char *lead)
{
    if (all->is_partial)
        fprintf(t->to,
                "%swarning: partial: %" PRIu64 " record%s of allocations lost, %" PRIu64
                " of frees: some blocks seem to live that do not (a larger --buffer keeps more)\n",
                lead, all->lost, all->lost == 1 ? "" : "s", all->lost_frees);
    else if (all->lost)
        fprintf(t->to,
                "%swarning: %" PRIu64 " record%s of allocations lost: there was at least this\n",
                lead, all->lost, all->lost == 1 ? "" : "s");
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++) {
        const kymo_heap *heap = kymo_profile_heap(profile, i);
        const char *not_seen = heap ? kymo_profile_string(profile, heap->not_seen) : "";
        if (!*not_seen)
            continue;
        fprintf(t->to, "%swarning: not seen in pid %d: ", lead,
                (int)kymo_profile_process(profile, i)->pid);
        kymo_terminal_print(t, not_seen, 0, KYMO_CUT_END, 0);
        fputc('\n', t->to);
    }
}

void kymo_report_print_heap_totals(const kymo_terminal *t, const kymo_profile *profile,
                                   const kymo_report *report)
{
    const kymo_heap_totals *all = kymo_heap_report_totals(report);
    char rate[32];
    fputs("heap:     ", t->to);
    if (all->rate > 1)
        fprintf(t->to, "one sample per %s allocated on average, %" PRIu64 " of them; ",
                kymo_format_bytes(rate, all->rate), all->allocated.samples);
    else
        fputs("every allocation; ", t->to);
    fputs("allocated ", t->to);
    print_sum(t, &all->allocated, "block");
    fputc('\n', t->to);
    print_missing(t, profile, all, "");
    print_what(t, profile, all);
}

static kymo_report *report_of(const kymo_profile *profile, kymo_heap_view view)
{
    const kymo_heap_report_options options = {.size = sizeof options,
                                              .view = view,
                                              .by = KYMO_BY_FUNCTION,
                                              .at_ns = KYMO_HEAP_END,
                                              .min_age_ns = KYMO_HEAP_AUTO};
    kymo_report *report = NULL;
    return kymo_heap_report_create(profile, &options, &report) == KYMO_OK ? report : NULL;
}

int kymo_report_print_heap_summary(const kymo_terminal *t, const kymo_profile *profile, size_t top,
                                   const char *lead)
{
    kymo_report *peak = report_of(profile, KYMO_HEAP_PEAK);
    kymo_report *live = report_of(profile, KYMO_HEAP_LIVE);
    int is_there = peak && live && kymo_heap_report_totals(peak)->recorded > 0;
    if (is_there) {
        const kymo_heap_totals *most = kymo_heap_report_totals(peak);
        fprintf(t->to, "\n%sallocated: ", lead);
        print_sum(t, &most->allocated, "block");
        fprintf(t->to, "\n%slive at exit: ", lead);
        print_sum(t, &kymo_heap_report_totals(live)->sum, "block");
        fprintf(t->to, "\n%speak heap ", lead);
        print_moment(t, profile, most->at_ns);
        fputs(": ", t->to);
        print_sum(t, &most->sum, "block");
        fputs(", by allocating function:\n", t->to);
        kymo_report_print_heap(t, peak, KYMO_BY_FUNCTION, top);
        print_missing(t, profile, most, lead);
    }
    kymo_report_destroy(peak);
    kymo_report_destroy(live);
    return is_there;
}

/* ---- tables ---- */

static void print_histogram(const kymo_terminal *t, const double *lives, uint32_t first,
                            uint32_t end)
{
    static const char *const steps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double most = 0;
    for (uint32_t i = first; i < end; i++)
        most = lives[i] > most ? lives[i] : most;
    for (uint32_t i = first; i < end; i++)
        fputs(lives[i] > 0 ? steps[(size_t)(lives[i] / most * 7)] : " ", t->to);
}

/* The buckets that any row has something in: [*first, *end). */
static void find_axis(const double *lives, uint32_t *first, uint32_t *end)
{
    *first = *end = 0;
    for (uint32_t i = 0; lives && i < KYMO_LIFETIME_BUCKETS; i++) {
        if (lives[i] <= 0)
            continue;
        *first = *end ? *first : i;
        *end = i + 1;
    }
}

/* Half of them lived for less than the end of this bucket. */
static uint64_t median_below_ns(const double *lives)
{
    double all = 0;
    double sum = 0;
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS; i++)
        all += lives[i];
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS; i++) {
        sum += lives[i];
        if (sum * 2 >= all)
            return 2ull << i;
    }
    return 0;
}

static void print_row(const kymo_terminal *t, const kymo_report_row *row,
                      const kymo_heap_totals *all, uint32_t by, uint32_t first, uint32_t end)
{
    char text[40];
    char low[40];
    char high[40];
    if (is_by_objects(all))
        fprintf(t->to, "%5.1f %% %5.1f %%", share(row->memory->self.objects, all->sum.objects),
                share(row->memory->total.objects, all->sum.objects));
    else
        fprintf(t->to, "%5.1f %% %5.1f %%", share(row->memory->self.bytes, all->sum.bytes),
                share(row->memory->total.bytes, all->sum.bytes));
    fprintf(t->to, "  %10s", format(text, row->memory->self.bytes));
    if (!is_exact(all)) {
        char interval[88];
        snprintf(interval, sizeof interval, "%s to %s", format(low, row->memory->self.bytes_low),
                 format(high, row->memory->self.bytes_high));
        fprintf(t->to, "  %-24s", row->memory->self.samples ? interval : "");
    }
    fprintf(t->to, "  %10.0f  ", row->memory->self.objects);
    if (row->lifetimes) {
        fprintf(t->to, "%9s  ",
                row->memory->self.samples
                    ? kymo_format_duration(low, median_below_ns(row->lifetimes))
                    : "-");
        print_histogram(t, row->lifetimes, first, end);
        fputs("  ", t->to);
    }
    kymo_report_print_place(t, row, (kymo_report_by)by);
}

void kymo_report_print_heap(const kymo_terminal *t, const kymo_report *report, uint32_t by,
                            size_t top)
{
    size_t n;
    uint32_t first;
    uint32_t end;
    char from[32];
    char to[32];
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    const kymo_heap_totals *all = kymo_heap_report_totals(report);
    size_t n_self = 0; /* rows that only called others are last, but by size, where none is */
    while (n_self < n && (rows[n_self].memory->self.samples > 0 || by == KYMO_BY_SIZE))
        n_self++;
    size_t shown = top && top < n_self ? top : n_self;
    if (n == 0)
        return;
    find_axis(all->lifetimes, &first, &end);
    fprintf(t->to, "%s  self   total        self%s      %s  ", kymo_terminal_dim(t),
            is_exact(all) ? "" : "  95 %                    ",
            all->view == KYMO_HEAP_MAPPED ? "mappings" : "  blocks");
    if (all->lifetimes)
        fprintf(t->to, "median      %*s", (int)(end - first) + 1, "");
    fprintf(t->to, "%s%s\n", kymo_report_heading_of((kymo_report_by)by), kymo_terminal_reset(t));
    for (size_t i = 0; i < shown; i++)
        print_row(t, &rows[i], all, by, first, end);
    kymo_report_print_more(t, n_self - shown, 0, " (--top 0 shows all)");
    if (all->lifetimes && end > first)
        fprintf(t->to, "%slives: each step of the curve is twice the one before, from %s to %s%s\n",
                kymo_terminal_dim(t), kymo_format_duration(from, first ? 1ull << first : 0),
                kymo_format_duration(to, 1ull << end), kymo_terminal_reset(t));
}

void kymo_report_print_heap_tree(const kymo_terminal *t, const kymo_report *report, size_t top,
                                 double min_share)
{
    size_t n;
    size_t n_rows;
    size_t printed = 0;
    size_t left_out = 0;
    const kymo_report_node *nodes = kymo_report_nodes(report, &n);
    const kymo_report_row *rows = kymo_report_rows(report, &n_rows);
    const kymo_heap_totals *all = kymo_heap_report_totals(report);
    int by_objects = is_by_objects(all);
    double whole = by_objects ? all->sum.objects : all->sum.bytes;
    char text[40];
    fprintf(t->to, "%s total       total      blocks  function%s\n", kymo_terminal_dim(t),
            kymo_terminal_reset(t));
    for (size_t i = 0; i < n; i++) {
        double part = by_objects ? nodes[i].memory->total.objects : nodes[i].memory->total.bytes;
        if (share(part, whole) < min_share * 100 || (top && printed >= top)) {
            left_out++;
            continue;
        }
        int indent = nodes[i].depth < 50 ? (int)nodes[i].depth * 2 : 100;
        fprintf(t->to, "%5.1f %%  %10s  %10.0f  %*s", share(part, whole),
                format(text, nodes[i].memory->total.bytes), nodes[i].memory->total.objects, indent,
                "");
        if (nodes[i].depth >= 50)
            fprintf(t->to, "(%" PRIu32 ") ", nodes[i].depth);
        size_t used = (size_t)indent + 33;
        size_t width = t->width ? (size_t)t->width : 0;
        kymo_terminal_print(t, rows[nodes[i].row].name,
                            width == 0                ? 0
                            : width > used + NAME_MIN ? width - used
                                                      : NAME_MIN,
                            KYMO_CUT_END, 0);
        fputc('\n', t->to);
        printed++;
    }
    if (left_out)
        fprintf(t->to, "%s... and %zu more node%s (--top 0 shows all)%s\n", kymo_terminal_dim(t),
                left_out, left_out == 1 ? "" : "s", kymo_terminal_reset(t));
}
