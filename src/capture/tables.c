/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/module.h"

#include <link.h>

#include "base/atomic.h"
#include "sys/raw.h"
#include "unwind/module.h"

static int try_lock(struct kymo_capture_process *p)
{
    uint32_t expected = 0;
    return kymo_cas_acq_rel(&p->tables_lock, &expected, 1u);
}

static void unlock(struct kymo_capture_process *p)
{
    kymo_store_release(&p->tables_lock, 0u);
}

/* A library may have been closed, and another one mapped at its place, while the recorder made the
 * table: so the loader is asked whether this one is there still. */
static int holds(const struct kymo_capture_process *p, const struct kymo_table_entry *e)
{
    struct kymo_unwind_module found;
    return e->at < p->tables_bytes && e->size_bytes <= p->tables_bytes - e->at &&
           kymo_module_find(NULL, e->map_start, &found) && found.map_start == e->map_start &&
           found.map_end == e->map_end && found.link_map && found.link_map->l_addr == e->bias;
}

void kymo_tables_take(struct kymo_capture_process *p)
{
    if (!try_lock(p))
        return;
    const struct kymo_table_area *area = p->table_area;
    uint32_t count = kymo_load_acquire(&area->count);
    if (count > KYMO_TABLE_AREA_ENTRIES)
        count = KYMO_TABLE_AREA_ENTRIES;
    for (uint32_t i = p->tables_taken; i < count; i++) {
        /* A copy: the program can write to the session. */
        struct kymo_table_entry e = area->entries[i];
        struct kymo_address_range range = {e.map_start, e.map_end};
        /* One that does not fit is one less: its module is interpreted. */
        if (holds(p, &e))
            (void)!kymo_walker_table_add(&p->walker, range, e.base, p->tables + e.at, e.size_bytes);
    }
    kymo_store_release(&p->tables_taken, count);
    unlock(p);
}

void kymo_tables_drop(struct kymo_capture_process *p, uint64_t start, uint64_t end)
{
    /* The lock is held by a handler on another thread, which is done in microseconds. */
    while (!try_lock(p))
        kymo_raw_wait_a_little();
    kymo_walker_table_drop(&p->walker, (struct kymo_address_range){start, end});
    unlock(p);
}
