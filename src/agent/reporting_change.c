/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporting_change.c - other settings while it runs.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/reporting_state.h"

static int is_same_reporter(const struct kymo_reporter *a, const struct kymo_reporter *b)
{
    return a->kind == b->kind && strcmp(a->target, b->target) == 0 &&
           strcmp(a->extension, b->extension) == 0;
}

/* Counts go on, and what waits is dropped. */
static void retire(kymo_reporting *a, struct kymo_deliver *d)
{
    kymo_deliver_deinit(d);
    a->retired.delivered += d->counts.delivered;
    a->retired.failures += d->counts.failures;
    a->retired.dropped += d->counts.dropped;
    if (d->counts.last_ns > a->retired.last_delivery_ns)
        a->retired.last_delivery_ns = d->counts.last_ns;
}

/* A reporter that stays keeps what waits for it. before: how many there were. */
static void replace_delivers(kymo_reporting *a, uint32_t before)
{
    struct kymo_deliver old[KYMO_AGENT_REPORTERS];
    int is_taken[KYMO_AGENT_REPORTERS] = {0};
    memcpy(old, a->delivers, sizeof old);
    for (uint32_t i = 0; i < a->settings->n_reporters; i++) {
        const struct kymo_reporter *r = &a->settings->reporters[i];
        uint32_t j = 0;
        while (j < before && (is_taken[j] || !is_same_reporter(old[j].reporter, r)))
            j++;
        if (j < before) {
            is_taken[j] = 1;
            a->delivers[i] = old[j];
            a->delivers[i].reporter = r;
            a->delivers[i].most_bytes = a->settings->spool_bytes;
        } else {
            kymo_deliver_init(&a->delivers[i], r, a->system->workers, a->settings->spool_bytes);
        }
    }
    for (uint32_t j = 0; j < before; j++)
        if (!is_taken[j])
            retire(a, &old[j]);
}

/* The present interval is as long as the new ones, or ends now. */
static void set_interval(kymo_reporting *a, uint64_t before_ns, uint64_t interval_ns)
{
    const uint64_t start_ns = a->schedule.due_ns - before_ns;
    a->schedule.interval_ns = interval_ns;
    if (a->schedule.due_ns)
        a->schedule.due_ns = start_ns + interval_ns;
}

kymo_err kymo_reporting_set(kymo_reporting *a, const char *text, kymo_launch_change *change,
                            void *change_context, kymo_error *detail)
{
    const uint64_t before_ns = a->settings->interval_ns;
    const uint32_t reporters = a->settings->n_reporters;
    struct kymo_agent_change *c = malloc(sizeof *c);
    if (!c)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for other settings");
    kymo_err err = kymo_agent_change_plan(c, a->settings, text, detail);
    if (err == KYMO_OK)
        err = change(change_context, &c->recording, detail);
    if (err != KYMO_OK) {
        free(c);
        return err;
    }
    struct kymo_agent_change *before = a->changed;
    a->changed = c;
    a->settings = &c->settings;
    replace_delivers(a, reporters);
    free(before);
    set_interval(a, before_ns, c->settings.interval_ns);
    kymo_reporting_set_labels(a);
    if (kymo_agent_settings_want_metadata(a->settings) && !a->who.has_looked && !a->is_finding)
        kymo_reporting_find_metadata(a);
    return KYMO_OK;
}
