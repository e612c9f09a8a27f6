/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_sites.c - source locations that make markers, and what they refer to by number; notes on
 * markers that were not recorded; counters.
 */
#include "profile/ingest_state.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "kymo/marker_abi.h"

/* Marker names that get a note; the others are only counted. */
#define LOSS_NOTES_MAX 20u

void kymo_ingest_marks_deinit(struct kymo_ingest_marks *m)
{
    for (size_t i = 0; i < m->labels.len; i++)
        kymo_vec_deinit(&m->labels.data[i]);
    kymo_index_deinit(&m->layout_index);
    kymo_vec_free_all(m->labels.data, m->label_forks.data, m->categories.data, m->types.data,
                      m->sites.data, m->literals.data, m->tracks.data, m->counters.data,
                      m->fields.data, m->layouts.data, m->values.data, m->cells.data,
                      m->halves.data, m->half_values.data, m->elsewhere.data);
}

static int find_category(const kymo_ingest *in, uint32_t number, uint32_t *id)
{
    *id = KYMO_NONE;
    if (number == KYMO_EVENT_NONE)
        return 1;
    if (number >= in->marks.categories.len)
        return 0;
    *id = in->marks.categories.data[number];
    return 1;
}

kymo_err kymo_ingest_on_site(void *ctx, const kymo_event_site *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_marks *m = &in->marks;
    struct kymo_ingest_site site = {.process = e->process,
                                    .type = KYMO_NONE,
                                    .schema = KYMO_NONE,
                                    .text = KYMO_NONE,
                                    .kind = e->kind};
    if (e->site != m->sites.len || e->process >= in->processes.len ||
        (e->type != KYMO_EVENT_NONE && e->type >= m->types.len) || e->kind > KYMO_SITE_VALUES ||
        !find_category(in, e->category, &site.category))
        return KYMO_E_INVALID;
    if (e->type != KYMO_EVENT_NONE) {
        site.type = e->type;
        site.schema = m->types.data[e->type].schema;
    }
    KYMO_TRY(kymo_ingest_add_name(in, e->name, &site.name));
    KYMO_TRY(kymo_ingest_copy_text(in, e->format, &site.format));
    return kymo_vec_push(&m->sites, site);
}

kymo_err kymo_ingest_on_literal(void *ctx, const kymo_event_named *e)
{
    kymo_ingest *in = ctx;
    uint32_t string;
    if (e->id != in->marks.literals.len)
        return KYMO_E_INVALID;
    KYMO_TRY(kymo_ingest_add_name(in, e->name, &string));
    return kymo_vec_push(&in->marks.literals, string);
}

kymo_err kymo_ingest_on_track(void *ctx, const kymo_event_named *e)
{
    kymo_ingest *in = ctx;
    uint32_t string;
    if (e->id != in->marks.tracks.len)
        return KYMO_E_INVALID;
    /* A track needs a name. */
    KYMO_TRY(kymo_ingest_add_name(in, e->name && *e->name ? e->name : "track", &string));
    return kymo_vec_push(&in->marks.tracks, string);
}

/* ---- counters ---- */

kymo_err kymo_ingest_on_counter(void *ctx, const kymo_event_counter *e)
{
    kymo_ingest *in = ctx;
    kymo_counter row = {
        .size = sizeof row,
        .process = e->process,
        .kind = e->kind,
        .flags = e->flags,
        .color = e->color < KYMO_COLOR_COUNT ? e->color : 0,
    };
    uint32_t id = KYMO_NONE;
    if (e->counter != in->marks.counters.len || e->kind > KYMO_COUNTER_GAUGE ||
        !find_category(in, e->category, &row.category))
        return KYMO_E_INVALID;
    KYMO_TRY(kymo_ingest_add_string(in, e->name, &row.name));
    KYMO_TRY(kymo_ingest_add_string(in, e->unit, &row.unit));
    KYMO_TRY(kymo_ingest_add_string(in, e->description, &row.description));
    KYMO_TRY(kymo_ingest_leave_out(in, KYMO_INGEST_DEFINITIONS,
                                   kymo_profile_add_counter(in->profile, &row, &id)));
    return kymo_vec_push(&in->marks.counters, id);
}

kymo_err kymo_ingest_on_count(void *ctx, const kymo_event_count *e)
{
    kymo_ingest *in = ctx;
    if (e->counter >= in->marks.counters.len)
        return KYMO_E_INVALID;
    kymo_ingest_see_time(in, e->time_ns);
    if (in->skips_markers)
        return KYMO_OK;
    uint32_t counter = in->marks.counters.data[e->counter];
    kymo_err err = KYMO_E_TOO_BIG;
    if (counter != KYMO_NONE)
        err = kymo_profile_add_count(in->profile, counter, e->time_ns, e->value, e->operations);
    return kymo_ingest_leave_out(in, KYMO_INGEST_COUNTS, err);
}

/* ---- losses ---- */

kymo_err kymo_ingest_on_site_counts(void *ctx, const kymo_event_site_counts *e)
{
    kymo_ingest *in = ctx;
    if (e->site >= in->marks.sites.len)
        return KYMO_E_INVALID;
    struct kymo_ingest_site *site = &in->marks.sites.data[e->site];
    site->lost = e->lost;
    site->capped = e->capped;
    site->cut = e->cut;
    return KYMO_OK;
}

static void say(kymo_str *s, uint64_t count, const char *what)
{
    if (count)
        kymo_str_printf(s, "%s%" PRIu64 " %s", kymo_str_ends(kymo_str_cstr(s), ":") ? " " : ", ",
                        count, what);
}

static kymo_err note_loss(kymo_ingest *in, const kymo_marker_losses *losses)
{
    kymo_str s = {0};
    char name[KYMO_INGEST_QUOTE];
    kymo_str_printf(&s, "markers \"%s\":",
                    kymo_ingest_quote(kymo_profile_string(in->profile, losses->name), name));
    say(&s, losses->lost, "lost for want of room");
    say(&s, losses->capped, "above the limit of their type");
    say(&s, losses->cut, losses->cut == 1 ? "text cut" : "texts cut");
    uint32_t severity = losses->lost ? KYMO_NOTE_WARNING : KYMO_NOTE_INFO;
    kymo_err err = s.failed
                       ? KYMO_E_NOMEM
                       : kymo_ingest_add_note(in, 0, KYMO_EVENT_NONE, severity, kymo_str_cstr(&s));
    kymo_str_deinit(&s);
    return err;
}

kymo_err kymo_ingest_note_losses(kymo_ingest *in)
{
    for (size_t i = 0; i < in->marks.sites.len; i++) {
        const struct kymo_ingest_site *site = &in->marks.sites.data[i];
        kymo_marker_losses row = {.size = sizeof row,
                                  .name = site->name,
                                  .category = site->category,
                                  .schema = site->schema,
                                  .lost = site->lost,
                                  .capped = site->capped,
                                  .cut = site->cut};
        kymo_err err = KYMO_OK;
        if (row.lost || row.capped || row.cut)
            err = kymo_profile_add_marker_losses(in->profile, &row);
        if (err != KYMO_OK && err != KYMO_E_TOO_BIG) /* the note about the other names counts it */
            return err;
    }
    uint32_t count = kymo_profile_count(in->profile, KYMO_TABLE_MARKER_LOSSES);
    for (uint32_t i = 0; i < count && i < LOSS_NOTES_MAX; i++)
        KYMO_TRY(note_loss(in, kymo_profile_marker_losses(in->profile, i)));
    return count > LOSS_NOTES_MAX
               ? kymo_ingest_add_note(in, 0, KYMO_EVENT_NONE, KYMO_NOTE_WARNING,
                                      "markers of more names were lost, above a limit, or cut")
               : KYMO_OK;
}
