/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/ingest_thin.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "profile/estimate.h"
#include "profile/ingest_state.h"

#define RATE_BITS_MAX 40u

/* ---- counting rows ---- */

static void count_row(struct kymo_thin_count *c, const kymo_event_allocation *e)
{
    double weight = kymo_estimate_weight(e->bytes, e->rate);
    unsigned class = e->bytes ? 63u - (unsigned)__builtin_clzll(e->bytes) : 0;
    c->rows++;
    c->objects[class] += weight;
    c->bytes[class] += weight * (double)e->bytes;
}

static kymo_err on_allocation(void *ctx, const kymo_event_allocation *e)
{
    count_row(ctx, e);
    return KYMO_OK;
}

static kymo_err on_resize(void *ctx, const kymo_event_resize *e)
{
    count_row(ctx, &e->now);
    return KYMO_OK;
}

static kymo_err on_inherit(void *ctx, const kymo_event_inherit *e)
{
    struct kymo_thin_count *c = ctx;
    (void)e;
    c->inherits++;
    return KYMO_OK;
}

static kymo_err on_call_count(void *ctx, uint32_t thread, uint32_t count)
{
    struct kymo_thin_count *c = ctx;
    (void)thread;
    c->calls += count;
    return KYMO_OK;
}

/* Of several intervals read as one. */
static kymo_err on_calls(void *ctx, const kymo_event_calls *e)
{
    return on_call_count(ctx, e->thread, e->count);
}

const kymo_event_handler kymo_thin_count_handler = {
    .calls = on_calls,
    .call_count = on_call_count,
    .allocation = on_allocation,
    .resize = on_resize,
    .inherit = on_inherit,
};

static double rows_at(const struct kymo_thin_count *c, uint64_t rate)
{
    double rows = 0;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(c->objects); i++)
        if (c->objects[i] > 0)
            rows +=
                c->objects[i] * kymo_estimate_chance((uint64_t)(c->bytes[i] / c->objects[i]), rate);
    /* Inherited allocations have the same distribution as all others. */
    return rows * (1 + (double)c->inherits / (double)c->rows);
}

uint64_t kymo_thin_rate(const struct kymo_thin_count *c, uint64_t most)
{
    if (c->rows == 0 || c->rows + c->inherits <= most)
        return 0;
    for (unsigned bits = 1; bits < RATE_BITS_MAX; bits++)
        if (rows_at(c, 1ull << bits) <= (double)most)
            return 1ull << bits;
    return 1ull << RATE_BITS_MAX;
}

/* ---- which rows are kept ---- */

void kymo_ingest_thin(kymo_ingest *in, uint64_t rate)
{
    in->heap.thin.rate = rate > 1 ? rate : 0;
}

/* Decides with probability wanted / had, the same way each time: two reports of one recording
 * must not differ. Therefore the hash has no secret. */
static int is_drawn(uint64_t id, uint64_t more, double wanted, double had)
{
    uint64_t hash = kymo_hash_mix(kymo_hash_mix(0x6b796d6f, id), more);
    return had > 0 && (double)(hash >> 11) * 0x1p-53 * had < wanted;
}

/* Decides by the id of an allocation alone, so that its later events are decided in the same way
 * whether or not the allocation was read before: records of other threads come in any order. */
static int is_block_drawn(const struct kymo_ingest_thin *t, uint64_t id, uint64_t bytes,
                          uint64_t rate)
{
    return is_drawn(id, 0, kymo_estimate_chance(bytes, t->rate), kymo_estimate_chance(bytes, rate));
}

int kymo_ingest_thin_allocation(struct kymo_ingest_thin *t, kymo_event_allocation *e)
{
    if (t->rate <= e->rate)
        return 1;
    t->seen++;
    if (!is_block_drawn(t, e->id, e->bytes, e->rate)) {
        t->left_out++;
        return 0;
    }
    e->rate = t->rate;
    return 1;
}

int kymo_ingest_thin_resize(struct kymo_ingest_thin *t, kymo_event_resize *e, int is_kept)
{
    kymo_event_allocation *now = &e->now;
    if (t->rate <= now->rate)
        return 1;
    uint64_t grown = now->bytes > e->usable_before ? now->bytes - e->usable_before : 0;
    double had = kymo_estimate_chance(grown, now->rate);
    t->seen++;
    /* An upper bound of its size: if it is not kept with that, it was not kept with the true
     * size. */
    if (!is_kept && !is_block_drawn(t, now->id, e->usable_before, now->rate))
        e->was_drawn &= ~KYMO_RESIZE_DRAWN_BEFORE;
    if (!is_drawn(now->id, now->time_ns, kymo_estimate_chance(grown, t->rate), had))
        e->was_drawn &= ~KYMO_RESIZE_DRAWN_NOW;
    if (e->was_drawn == 0) {
        t->left_out++;
        return 0;
    }
    now->rate = t->rate;
    return 1;
}

kymo_err kymo_ingest_thin_note(kymo_ingest *in)
{
    const struct kymo_ingest_thin *t = &in->heap.thin;
    char text[320];
    char rate[32];
    if (t->left_out == 0)
        return KYMO_OK;
    snprintf(
        text, sizeof text,
        "%" PRIu64 " allocations were recorded, of which %" PRIu64
        " are kept in memory, as if one had been drawn for each %s: what was counted is exact, "
        "other figures of the heap are estimates with their intervals",
        t->seen, t->seen - t->left_out, kymo_format_bytes(rate, t->rate));
    return kymo_ingest_add_note(in, 0, KYMO_EVENT_NONE, KYMO_NOTE_WARNING, text);
}
