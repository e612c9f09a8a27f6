/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_stats.c - what has become of this process's markers so far: see mark.h.
 *
 * Everything is where the recorder reads it, too; nothing is counted for this.
 */
#include "base/atomic.h"
#include "capture/mark.h"

/* A thread's count goes on when another thread takes its place. */
static uint64_t count_written(const struct kymo_capture_process *p)
{
    uint64_t sum = 0;
    uint32_t touched = kymo_threads_touched(p);
    for (uint32_t i = 0; i < touched; i++)
        sum += kymo_load_relaxed(&p->threads[i].marks);
    return sum;
}

int kymo_mark_stats(struct kymo_mark_stats *stats)
{
    const struct kymo_capture_process *p = kymo_process_here();
    if (!stats || stats->size < sizeof *stats)
        return KYMO_E_INVALID;
    if (!p)
        return KYMO_E_CLOSED;
    *stats = (struct kymo_mark_stats){.size = stats->size, .written = count_written(p)};
    for (uint32_t number = 1; number <= p->plan.definitions; number++) {
        const struct kymo_definition *d = kymo_definition_at(p->session, &p->plan, number);
        if (!d || d->kind != KYMO_DEFINE_SITE)
            continue;
        const struct kymo_site_counts *counts =
            kymo_session_site_counts(p->session, &p->plan, number);
        stats->sites++;
        stats->lost += kymo_load_relaxed(&counts->lost);
        stats->capped += kymo_load_relaxed(&counts->capped);
        stats->cut += kymo_load_relaxed(&counts->cut);
    }
    return KYMO_OK;
}
