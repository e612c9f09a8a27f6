/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/alloc_record.h"

#include "base/atomic.h"
#include "capture/alloc_table.h"

static struct kymo_alloc_early blocks[KYMO_ALLOC_EARLY_BLOCKS];
static uint32_t used;
static uint64_t lost;

void kymo_alloc_early_note(uint64_t address, uint64_t bytes, uint64_t caller)
{
    uint32_t at = kymo_load_relaxed(&used);
    do {
        if (at >= KYMO_ALLOC_EARLY_BLOCKS) {
            kymo_add_relaxed(&lost, 1u);
            return;
        }
    } while (!kymo_cas_relaxed(&used, &at, at + 1));
    blocks[at].bytes = bytes;
    blocks[at].caller = caller;
    /* Pairs with the exchange of take. */
    kymo_store_release(&blocks[at].address, address);
    /* The program was started with our environment: there is no filter that could kill it. */
    if (!kymo_alloc_table_put(address, at + 1, 1)) {
        kymo_store_relaxed(&blocks[at].address, 0u);
        kymo_add_relaxed(&lost, 1u);
    }
}

void kymo_alloc_early_end(uint64_t id)
{
    if (id - 1 < KYMO_ALLOC_EARLY_BLOCKS)
        kymo_store_relaxed(&blocks[id - 1].ended, 1u);
}

void kymo_alloc_early_drop(uint64_t id)
{
    if (id - 1 < KYMO_ALLOC_EARLY_BLOCKS)
        kymo_store_relaxed(&blocks[id - 1].address, 0u);
}

int kymo_alloc_early_take(uint64_t id, struct kymo_alloc_early *block)
{
    /* Never above the number of allocations. What is behind stays untouched memory. */
    if (id - 1 >= kymo_load_relaxed(&used))
        return 0;
    block->address = kymo_exchange_acq_rel(&blocks[id - 1].address, 0u);
    block->bytes = blocks[id - 1].bytes;
    block->caller = blocks[id - 1].caller;
    block->ended = kymo_load_relaxed(&blocks[id - 1].ended);
    return block->address != 0;
}

uint64_t kymo_alloc_early_lost(void)
{
    return kymo_exchange_acq_rel(&lost, 0u);
}
