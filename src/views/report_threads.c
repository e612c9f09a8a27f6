/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "views/report_text.h"

enum { WAITS_NAMED = 3 };

static int by_weight(const void *a, const void *b)
{
    const kymo_report_thread *ta = a;
    const kymo_report_thread *tb = b;
    if (ta->weight != tb->weight)
        return ta->weight > tb->weight ? -1 : 1;
    return ta->thread < tb->thread ? -1 : ta->thread > tb->thread;
}

void kymo_report_print_threads(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, size_t top)
{
    size_t n;
    int is_wall = kymo_report_type(report)->adds == KYMO_ADDS_ELAPSED;
    const kymo_report_thread *threads = kymo_report_threads(report, &n);
    kymo_report_thread *sorted = malloc((n + 1) * sizeof *sorted);
    uint64_t total = kymo_report_total(report);
    size_t shown = top && top < n ? top : n;
    if (!sorted)
        return;
    if (n)
        memcpy(sorted, threads, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_weight);
    fprintf(t->to, "%s  self    %s   samples%s  thread (tid)%s\n", kymo_terminal_dim(t),
            is_wall ? "wall time" : " CPU time", is_wall ? "" : "  accounted",
            kymo_terminal_reset(t));
    for (size_t i = 0; i < shown; i++) {
        const kymo_thread *thread = kymo_profile_thread(profile, sorted[i].thread);
        char time[32];
        char achieved[32] = "-";
        if (!isnan(sorted[i].achieved))
            snprintf(achieved, sizeof achieved, "%.1f %%", sorted[i].achieved * 100);
        kymo_report_print_share(t, total ? (double)sorted[i].weight / (double)total : 0);
        fprintf(t->to, "  %10s  %8" PRIu64,
                kymo_format_duration(time, is_wall ? sorted[i].weight : thread->cpu_ns),
                sorted[i].samples);
        if (!is_wall)
            fprintf(t->to, "  %9s", achieved);
        fputs("  ", t->to);
        kymo_terminal_print(t, thread->name);
        fprintf(t->to, " (%d)\n", (int)thread->tid);
    }
    kymo_report_print_more(t, n - shown, 0, " (--top 0 shows all)");
    free(sorted);
}

static int is_wait(const kymo_report_row *row)
{
    return strncmp(row->name, "[waiting", 8) == 0 || strncmp(row->name, "[blocked", 8) == 0;
}

void kymo_report_print_waits(const kymo_terminal *t, const kymo_profile *profile,
                             const char *before)
{
    const kymo_report_options options = {.size = sizeof options, .kind = KYMO_SAMPLE_WALL};
    kymo_report *report = NULL;
    uint64_t waited = 0;
    size_t n;
    size_t named = 0;
    char time[32];
    char all[32];
    if (!kymo_profile_meta(profile)->wall_period_ns ||
        kymo_report_create(profile, &options, &report) != KYMO_OK)
        return;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    for (size_t i = 0; i < n; i++)
        if (is_wait(&rows[i]))
            waited += rows[i].self;
    /* What is sampled from outside has none. */
    if (kymo_report_total(report) == 0) {
        kymo_report_destroy(report);
        return;
    }
    fprintf(t->to, "%sthe threads waited %s of the %s that %s", before,
            kymo_format_duration(time, waited),
            kymo_format_duration(all, kymo_report_total(report)),
            kymo_profile_quality(profile)->dropped_wall_ns ? "were kept" : "they lived");
    /* sorted, the largest first */
    for (size_t i = 0; i < n && named < WAITS_NAMED; i++) {
        if (!is_wait(&rows[i]))
            continue;
        fputs(named++ ? ", " : ": ", t->to);
        kymo_terminal_print(t, rows[i].name);
        fprintf(t->to, " %s", kymo_format_duration(time, rows[i].self));
    }
    fputs(" (kymo report --mode wall)\n", t->to);
    kymo_report_destroy(report);
}
