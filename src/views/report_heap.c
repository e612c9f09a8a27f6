/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_heap.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "views/report_text.h"

/* Allocators that were not seen, of programs that differ. */
#define NOT_SEEN_LINES 8u

static const char *format(char out[40], double bytes)
{
    static const kymo_sample_type of_bytes = {.unit = "bytes"};
    return kymo_report_format(out, &of_bytes, bytes);
}

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
                all->allocated.objects > 0 ? all->sum.objects / all->allocated.objects * 100 : 0);
        break;
    default:
        fputs(", live ", t->to);
        print_moment(t, profile, all->at_ns);
    }
    fputc('\n', t->to);
}

/* What allocators were not seen: of the processes of one program a line. */
static void print_not_seen(const kymo_terminal *t, const kymo_profile *profile, const char *lead)
{
    struct {
        uint32_t text;
        int pid;
        uint32_t count;
    } groups[NOT_SEEN_LINES];
    size_t n = 0;
    uint32_t others = 0;
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++) {
        const kymo_heap *heap = kymo_profile_heap(profile, i);
        size_t at = 0;
        if (!heap || !*kymo_profile_string(profile, heap->not_seen))
            continue;
        while (at < n && groups[at].text != heap->not_seen)
            at++;
        if (at < n) {
            groups[at].count++;
        } else if (n < NOT_SEEN_LINES) {
            groups[n].text = heap->not_seen;
            groups[n].pid = (int)kymo_profile_process(profile, i)->pid;
            groups[n++].count = 1;
        } else {
            others++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        fprintf(t->to, "%swarning: not seen in pid %d", lead, groups[i].pid);
        if (groups[i].count > 1)
            fprintf(t->to, " and %" PRIu32 " more", groups[i].count - 1);
        fputs(": ", t->to);
        kymo_terminal_print(t, kymo_profile_string(profile, groups[i].text));
        fputc('\n', t->to);
    }
    if (others)
        fprintf(t->to, "%swarning: other allocators were not seen in %" PRIu32 " more process%s\n",
                lead, others, others == 1 ? "" : "es");
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
    print_not_seen(t, profile, lead);
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
        kymo_report_print_table(t, peak, KYMO_BY_FUNCTION, top, " (--top 0 shows all)");
        print_missing(t, profile, most, lead);
    }
    kymo_report_destroy(peak);
    kymo_report_destroy(live);
    return is_there;
}
