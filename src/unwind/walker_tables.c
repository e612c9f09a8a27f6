/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walker_tables.c - which row tables a walker has; apart from walker.c, since handlers add them.
 *
 * Tables are written under a sequence lock of one writer: a handler that sees a slot being written
 * takes it for a miss and interprets.
 */
#include "base/atomic.h"
#include "unwind/row_table.h"
#include "unwind/unwind.h"

kymo_err kymo_walker_table_add(struct kymo_walker *walker, struct kymo_address_range range,
                               uint64_t base, const void *data, size_t size)
{
    KYMO_TRY(kymo_row_table_check(data, size));
    uint32_t i = 0;
    while (i < walker->tables && walker->table[i].live)
        i++;
    if (i == KYMO_WALKER_TABLES_MAX)
        return KYMO_E_TOO_BIG;
    struct kymo_walker_table *t = &walker->table[i];
    uint32_t sequence = t->sequence;
    kymo_store_relaxed(&t->sequence, sequence + 1);
    kymo_fence_release(); /* the odd number is seen before any field that is new */
    kymo_store_relaxed(&t->range.lo, range.lo);
    kymo_store_relaxed(&t->range.hi, range.hi);
    kymo_store_relaxed(&t->base, base);
    kymo_store_relaxed(&t->data, data);
    kymo_store_relaxed(&t->size, (uint64_t)size);
    kymo_store_relaxed(&t->live, 1u);
    kymo_store_release(&t->sequence, sequence + 2); /* pairs with row_from_tables */
    if (i == walker->tables)
        kymo_store_release(&walker->tables, i + 1); /* pairs with row_from_tables */
    return KYMO_OK;
}

void kymo_walker_table_drop(struct kymo_walker *walker, struct kymo_address_range range)
{
    for (uint32_t i = 0; i < walker->tables; i++) {
        struct kymo_walker_table *t = &walker->table[i];
        if (t->live && t->range.lo < range.hi && range.lo < t->range.hi)
            kymo_store_release(&t->live, 0u);
    }
}
