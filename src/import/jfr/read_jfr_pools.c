/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_pools.c - where the constants of a chunk are.
 *
 * A chunk has one event of constants, or several, each of which names the one before it. A first
 * pass counts them, a second one notes keys and places. What a constant says is read when an event
 * refers to it.
 */
#include <stdlib.h>

#include "import/jfr/read_jfr.h"

static uint32_t find_class(const kymo_jfr_part *part, uint64_t id)
{
    const uint32_t *at = kymo_key_map_find(&part->class_map, id);
    return at ? *at : KYMO_NONE;
}

static void note(struct kymo_jfr_reader *r, kymo_jfr_constants *pool, uint64_t key,
                 const unsigned char *at)
{
    if (pool->rows)
        pool->rows[pool->count] =
            (kymo_jfr_constant){key, (uint32_t)kymo_jfr_place(r, at), KYMO_NONE};
    pool->count++;
}

/* The constants of one class. */
static kymo_err walk_pool(struct kymo_jfr_reader *r, kymo_reader *in)
{
    uint64_t position = kymo_jfr_place(r, in->at);
    uint64_t id = kymo_jfr_read_varint(in);
    uint64_t count = kymo_jfr_read_varint(in);
    uint32_t class_at = find_class(&r->part, id);
    if (class_at == KYMO_NONE || r->part.classes[class_at].shape == KYMO_JFR_SHAPE_UNKNOWN)
        return kymo_import_fault(r->d, position,
                                 "constants are of class %llu, which is not "
                                 "described",
                                 (unsigned long long)id);
    unsigned kind = r->part.classes[class_at].pool;
    for (; count > 0 && !in->failed; count--) {
        uint64_t key = kymo_jfr_read_varint(in);
        const unsigned char *at = in->at;
        kymo_jfr_skip_value(&r->part, in, class_at);
        if (kind && !in->failed)
            note(r, &r->part.pools[kind], key, at);
    }
    return KYMO_OK;
}

/* One event; *delta: where the one before it is, as seen from it; 0: there is none. end: its own
 * end is not behind this. */
static kymo_err walk_event(struct kymo_jfr_reader *r, uint64_t at, uint64_t end, int64_t *delta)
{
    enum { CONSTANTS = 1 };
    kymo_reader in = kymo_reader_part(r->d->data, end, at, end);
    uint64_t size = kymo_jfr_read_varint(&in);
    if (in.failed || size > end - at)
        return kymo_import_fault(r->d, at, "constants are longer than their chunk");
    kymo_reader header = in;
    in = kymo_reader_part(r->d->data, at + size, kymo_jfr_place(r, header.at), at + size);
    if (kymo_jfr_read_varint(&in) != CONSTANTS)
        return kymo_import_fault(r->d, at, "there are no constants where the chunk says");
    kymo_jfr_read_varint(&in); /* start */
    kymo_jfr_read_varint(&in); /* duration */
    *delta = (int64_t)kymo_jfr_read_varint(&in);
    kymo_read_u8(&in); /* which kind of event it is */
    uint64_t pools = kymo_jfr_read_varint(&in);
    for (; pools > 0 && !in.failed; pools--)
        KYMO_TRY(walk_pool(r, &in));
    return in.failed ? kymo_import_fault(r->d, at, "the constants make no sense") : KYMO_OK;
}

/* From the last event to the first. They do not overlap, so each byte is read once. */
static kymo_err walk(struct kymo_jfr_reader *r)
{
    uint64_t at = r->part.constants_at;
    uint64_t end = r->part.end;
    int64_t delta = at ? -1 : 0;
    while (delta != 0) {
        KYMO_TRY(walk_event(r, at, end, &delta));
        uint64_t back = 0 - (uint64_t)delta;
        if (delta > 0 || back > at - r->part.at)
            return kymo_import_fault(r->d, at, "the constants before these are outside the chunk");
        end = at;
        at -= back;
    }
    return KYMO_OK;
}

static int compare(const void *a, const void *b)
{
    const kymo_jfr_constant *x = a;
    const kymo_jfr_constant *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Sorting may take as much again. */
static kymo_err sort(struct kymo_jfr_reader *r, kymo_jfr_constants *pool)
{
    size_t bytes = pool->count * sizeof *pool->rows;
    int is_sorted = 1;
    for (uint32_t i = 1; i < pool->count; i++)
        is_sorted &= pool->rows[i - 1].key <= pool->rows[i].key;
    if (is_sorted)
        return KYMO_OK;
    KYMO_TRY(kymo_import_charge(r->d, bytes));
    qsort(pool->rows, pool->count, sizeof *pool->rows, compare);
    kymo_import_uncharge(r->d, bytes);
    return KYMO_OK;
}

kymo_err kymo_jfr_read_pools(struct kymo_jfr_reader *r)
{
    kymo_jfr_part *part = &r->part;
    KYMO_TRY(walk(r));
    for (unsigned i = 1; i < KYMO_JFR_POOL_KINDS; i++) {
        kymo_jfr_constants *pool = &part->pools[i];
        KYMO_TRY(kymo_jfr_table(r, pool->count, sizeof *pool->rows, &pool->rows));
        pool->count = 0;
    }
    KYMO_TRY(walk(r));
    for (unsigned i = 1; i < KYMO_JFR_POOL_KINDS; i++)
        KYMO_TRY(sort(r, &part->pools[i]));
    return KYMO_OK;
}

kymo_jfr_constant *kymo_jfr_find_constant(const struct kymo_jfr_reader *r, unsigned pool,
                                          uint64_t key)
{
    const kymo_jfr_constants *constants = &r->part.pools[pool];
    uint32_t low = 0;
    uint32_t high = constants->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (constants->rows[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < constants->count && constants->rows[low].key == key ? &constants->rows[low] : NULL;
}

int kymo_jfr_open_constant(const struct kymo_jfr_reader *r, unsigned pool, uint64_t key,
                           kymo_jfr_constant **constant, kymo_jfr_row *row)
{
    uint32_t class_at = r->part.pools[pool].class_at;
    row->has = 0;
    *constant = class_at != KYMO_NONE ? kymo_jfr_find_constant(r, pool, key) : NULL;
    if (!*constant)
        return 0;
    kymo_reader in = kymo_jfr_reader_at(r, (const unsigned char *)r->d->data + (*constant)->at);
    kymo_jfr_read_row(r, &in, class_at, row);
    return 1;
}
