/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "views/aggregate.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const kymo_report_process *)a)->name, ((const kymo_report_process *)b)->name);
}

static int compare_unsampled(const void *a, const void *b)
{
    const kymo_report_process *pa = a;
    const kymo_report_process *pb = b;
    if (pa->unsampled_ns != pb->unsampled_ns)
        return pa->unsampled_ns > pb->unsampled_ns ? -1 : 1;
    return strcmp(pa->name, pb->name);
}

/* Sums of threads, by process. What a flight recorder dropped counts as sampled. */
struct sums {
    uint64_t cpu_ns, sampled_ns;
};

static void fill_row(const kymo_profile *profile, uint32_t i, const struct sums *sums,
                     kymo_report_process *row)
{
    const kymo_process *p = kymo_profile_process(profile, i);
    uint64_t cpu_ns = p->cpu_ns ? p->cpu_ns : sums->cpu_ns;
    *row = (kymo_report_process){.name = p->name,
                                 .processes = 1,
                                 .without_samples = sums->sampled_ns == 0,
                                 .cpu_ns = cpu_ns,
                                 .unsampled_ns =
                                     cpu_ns > sums->sampled_ns ? cpu_ns - sums->sampled_ns : 0};
}

/* Merges adjacent rows of equal names. Returns how many are left. */
static size_t merge_names(kymo_report_process *rows, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || strcmp(rows[kept - 1].name, rows[i].name) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        kymo_report_process *to = &rows[kept - 1];
        to->processes++;
        to->without_samples += rows[i].without_samples;
        to->cpu_ns = kymo_sum(to->cpu_ns, rows[i].cpu_ns);
        to->unsampled_ns = kymo_sum(to->unsampled_ns, rows[i].unsampled_ns);
    }
    return kept;
}

kymo_err kymo_aggregate_processes(const kymo_profile *profile, const kymo_report_thread *threads,
                                  size_t n_threads, kymo_report_process **out, size_t *count)
{
    uint32_t n = kymo_profile_count(profile, KYMO_TABLE_PROCESSES);
    struct sums *sums = calloc((size_t)n + 1, sizeof *sums);
    kymo_report_process *rows = malloc(((size_t)n + 1) * sizeof *rows);
    if (!sums || !rows) {
        free(sums);
        free(rows);
        return KYMO_E_NOMEM;
    }
    for (size_t i = 0; i < n_threads; i++) {
        const kymo_thread *t = kymo_profile_thread(profile, threads[i].thread);
        struct sums *of = &sums[t->process];
        of->cpu_ns = kymo_sum(of->cpu_ns, t->cpu_ns);
        of->sampled_ns = kymo_sum(of->sampled_ns, kymo_sum(threads[i].weight, t->dropped_ns));
    }
    for (uint32_t i = 0; i < n; i++)
        fill_row(profile, i, &sums[i], &rows[i]);
    free(sums);
    qsort(rows, n, sizeof *rows, compare_names);
    *count = merge_names(rows, n);
    qsort(rows, *count, sizeof *rows, compare_unsampled);
    *out = rows;
    return KYMO_OK;
}
