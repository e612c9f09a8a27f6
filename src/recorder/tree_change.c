/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_change.c - several settings of a running recording become others, all of them or none.
 */
#include "base/str.h"
#include "recorder/tree_state.h"

static kymo_err check(const kymo_tree *t, const struct kymo_tree_change *change, kymo_error *detail)
{
    if (change->wall_period_ns && !t->config.wall)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "wall time is not recorded there: wall= needs a new start");
    if (change->sets_alloc && !t->config.unseen)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "allocations are not recorded there: alloc= needs a new start");
    if (change->counters_period_ns && !t->config.counters_period_ns)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "counters are not recorded there: counters= needs a new start");
    return KYMO_OK;
}

static void set_counters_period(kymo_tree *t, uint64_t period_ns)
{
    t->config.counters_period_ns = period_ns;
    if (t->first)
        kymo_host_set_counters_period(t->first, period_ns);
    for (size_t i = 0; i < t->images.len; i++)
        kymo_host_set_counters_period(t->images.data[i]->host, period_ns);
}

kymo_err kymo_tree_change(kymo_tree *t, const struct kymo_tree_change *change, kymo_error *detail)
{
    KYMO_TRY(check(t, change, detail));
    if (change->cpu_period_ns)
        KYMO_TRY(kymo_tree_set_cpu_period(t, change->cpu_period_ns));
    if (change->wall_period_ns)
        KYMO_TRY(kymo_tree_set_wall_period(t, change->wall_period_ns));
    if (change->counters_period_ns)
        set_counters_period(t, change->counters_period_ns);
    if (change->sets_alloc)
        KYMO_TRY(kymo_tree_set_alloc_rate(t, change->alloc_bytes));
    if (change->markers)
        kymo_tree_change_markers(t, change->markers);
    return KYMO_OK;
}
