/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_beside.c - what the drain finds beside the streams: scopes that are open, counters, and
 * what became of the markers of each site.
 */
#include "base/atomic.h"
#include "base/f64.h"
#include "buffer/drain_state.h"
#include "kymo/marker_abi.h"

kymo_err kymo_drain_read_scopes(kymo_drain *d, uint32_t slot)
{
    const struct kymo_drain_mark_sink *sink = d->sink.marks;
    const struct kymo_known_definition *known;
    struct kymo_open_scope *scopes = kymo_session_scopes(d->session, &d->plan, slot);
    /* A look at them makes their page. The first definition may be one that this round has not
     * seen, so it is not asked what is known. */
    if (!sink || kymo_load_acquire(&d->session->definition_count) == 0)
        return KYMO_OK;
    for (uint32_t i = 0; i < KYMO_OPEN_SCOPES; i++) {
        /* Pairs with the release of a scope's beginning: its start is there. */
        uint32_t site = kymo_load_acquire(&scopes[i].site);
        uint64_t start = kymo_load_relaxed(&scopes[i].start);
        if (site == 0)
            continue;
        /* The next thread in this slot finds no open scope. */
        kymo_store_relaxed(&scopes[i].site, 0u);
        KYMO_TRY(kymo_drain_find_definition(d, site, KYMO_DEFINE_SITE, &known));
        if (!known)
            d->noticed[KYMO_LOSS_CORRUPT]++;
        else if (sink->open_scope)
            KYMO_TRY(sink->open_scope(d->sink.context, d->slots[slot].thread, site,
                                      kymo_drain_time_ns(d, start)));
    }
    return KYMO_OK;
}

int kymo_drain_counter(const kymo_drain *d, uint32_t index, struct kymo_drain_counter *counter)
{
    uint32_t count = kymo_load_acquire(&d->session->counter_count);
    if (index >= d->plan.counters || index >= count)
        return 0;
    const struct kymo_counter_part *parts = kymo_session_counter(d->session, &d->plan, index);
    /* Pairs with the release of who made it. */
    uint32_t number = kymo_load_acquire(&parts->definition);
    *counter = (struct kymo_drain_counter){0};
    if (number == 0 || number > d->plan.definitions ||
        d->marks.known[number].kind != KYMO_DEFINE_COUNTER)
        return 1;
    int64_t sum = 0; /* of a double: its bits, which are those of 0.0 now */
    int is_f64 = d->marks.known[number].counter_is_f64;
    int is_gauge = d->marks.known[number].counter_kind == KYMO_COUNTER_GAUGE;
    for (uint32_t i = 0; i < KYMO_COUNTER_PARTS; i++) {
        if (i == 0 || !is_gauge)
            sum = kymo_word_add(sum, kymo_load_relaxed(&parts[i].value), is_f64);
        counter->operations += kymo_load_relaxed(&parts[i].operations);
    }
    counter->counter = number;
    counter->value = sum;
    return 1;
}

int kymo_drain_site_counts(const kymo_drain *d, uint32_t index,
                           struct kymo_drain_site_counts *counts)
{
    uint32_t site = index + 1;
    if (index >= d->marks.highest)
        return 0;
    *counts = (struct kymo_drain_site_counts){0};
    if (d->marks.known[site].kind != KYMO_DEFINE_SITE)
        return 1;
    const struct kymo_site_counts *shared = kymo_session_site_counts(d->session, &d->plan, site);
    counts->lost = kymo_load_relaxed(&shared->lost);
    counts->capped = kymo_load_relaxed(&shared->capped);
    counts->cut = kymo_load_relaxed(&shared->cut);
    if (counts->lost | counts->capped | counts->cut)
        counts->site = site;
    return 1;
}
