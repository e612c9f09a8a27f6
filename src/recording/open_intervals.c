/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/open_intervals.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "buffer/record.h"

/* Programs have fewer; what a writer says beyond them is not kept. */
#define SITES_MAX 65536u

static uint64_t hash_of(const char *text)
{
    return text ? kymo_hash_bytes(text, strlen(text), 0) : 0;
}

kymo_err kymo_open_intervals_site(struct kymo_open_intervals *open, const kymo_event_site *e)
{
    if (e->site >= SITES_MAX)
        return KYMO_OK;
    while (open->site_names.len <= e->site)
        KYMO_TRY(kymo_vec_push(&open->site_names, 0u));
    open->site_names.data[e->site] = hash_of(e->name);
    return KYMO_OK;
}

static uint64_t name_of(const struct kymo_open_intervals *open, const kymo_event_marker *e)
{
    if (e->name)
        return hash_of(e->name);
    return e->site < open->site_names.len ? open->site_names.data[e->site] : 0;
}

static void forget(struct kymo_open_interval *i)
{
    free((char *)(uintptr_t)i->begin.name);
    free((uint8_t *)(uintptr_t)i->begin.payload);
    *i = (struct kymo_open_interval){.older = 0};
}

static kymo_err copy(struct kymo_open_interval *to, const kymo_event_marker *e)
{
    to->begin = *e;
    to->begin.name = NULL;
    to->begin.payload = NULL;
    if (e->name && !(to->begin.name = strdup(e->name)))
        return KYMO_E_NOMEM;
    if (e->payload_bytes) {
        uint8_t *payload = malloc(e->payload_bytes);
        if (!payload)
            return KYMO_E_NOMEM;
        memcpy(payload, e->payload, e->payload_bytes);
        to->begin.payload = payload;
    }
    return KYMO_OK;
}

static kymo_err take_place(struct kymo_open_intervals *open, uint32_t *at)
{
    const struct kymo_open_interval none = {.older = 0};
    if (open->free) {
        *at = open->free - 1;
        open->free = open->places.data[*at].older;
        return KYMO_OK;
    }
    *at = (uint32_t)open->places.len;
    return kymo_vec_push(&open->places, none);
}

static void give_place(struct kymo_open_intervals *open, uint32_t at)
{
    forget(&open->places.data[at]);
    open->places.data[at].older = open->free;
    open->free = at + 1;
}

static kymo_err begin(struct kymo_open_intervals *open, const kymo_event_marker *e)
{
    uint32_t at;
    if (!open->free && open->places.len >= KYMO_OPEN_INTERVALS_MAX)
        return KYMO_OK;
    KYMO_TRY(take_place(open, &at));
    struct kymo_open_interval *place = &open->places.data[at];
    kymo_err err = copy(place, e);
    uint32_t *latest = kymo_key_map_find(&open->latest, e->id);
    if (err == KYMO_OK && !latest)
        err = kymo_key_map_put(&open->latest, e->id, at);
    if (err != KYMO_OK) {
        give_place(open, at);
        return err;
    }
    place->name_hash = name_of(open, e);
    place->is_open = 1;
    place->older = latest ? *latest + 1 : 0;
    if (latest)
        *latest = at;
    return KYMO_OK;
}

static void end(struct kymo_open_intervals *open, const kymo_event_marker *e)
{
    uint32_t *latest = kymo_key_map_find(&open->latest, e->id);
    uint64_t name = name_of(open, e);
    if (!latest)
        return;
    struct kymo_open_interval *places = open->places.data;
    uint32_t at = *latest + 1;
    uint32_t newer = 0;
    for (; at && places[at - 1].name_hash != name; at = places[at - 1].older)
        newer = at;
    if (!at) {
        at = *latest + 1;
        newer = 0;
    }
    uint32_t older = places[at - 1].older;
    if (newer)
        places[newer - 1].older = older;
    else if (older)
        *latest = older - 1;
    else
        kymo_key_map_remove(&open->latest, e->id);
    give_place(open, at - 1);
}

kymo_err kymo_open_intervals_take(struct kymo_open_intervals *open, const kymo_event_marker *e)
{
    if (!e->id || e->is_open)
        return KYMO_OK;
    if (e->phase == KYMO_PHASE_BEGIN)
        return begin(open, e);
    if (e->phase == KYMO_PHASE_END)
        end(open, e);
    return KYMO_OK;
}

void kymo_open_intervals_deinit(struct kymo_open_intervals *open)
{
    for (size_t i = 0; i < open->places.len; i++)
        forget(&open->places.data[i]);
    kymo_vec_deinit(&open->places);
    kymo_vec_deinit(&open->site_names);
    kymo_key_map_deinit(&open->latest);
}
