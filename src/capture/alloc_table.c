/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_table.c - see alloc_table.h.
 *
 * Levels of buckets. An address has one bucket of 8 slots, two cache lines, in each level; it is
 * put into the first level that has room there, and looked for in all that were ever used. Nothing
 * is looked for beyond its bucket, so taking out leaves no trace that would have to be kept.
 *
 * At one allocation per 512 KiB, 1 GiB of heap are 2048 allocations, an eighth of the first level:
 * of its buckets one in 10^5 is full. Half full, as with 4 GiB, one in fifty is.
 *
 * A slot is claimed by a compare-and-exchange of its address from 0, and gets its id afterwards; it
 * is released in the opposite order. An address without an id belongs to no allocation: a child
 * that was forked in between finds one.
 *
 * The filter counts an allocation before it is put and until after it was taken, so a thread that
 * frees the allocation sees it counted.
 */
#include "capture/alloc_table.h"

#include <stddef.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "capture/alloc.h"
#include "sys/raw.h"

struct kymo_alloc_slot {
    uint64_t address; /* 0: free */
    uint64_t id;      /* release; 0: not yet, or no more */
};

#define BUCKET_SLOTS 8u
#define FIRST_BITS 14u /* of slots; each level has 16 times as many as the one before */
#define LEVEL_BITS 4u

static struct kymo_alloc_slot first[1u << FIRST_BITS] __attribute__((aligned(64)));
static struct kymo_alloc_slot *levels[KYMO_ALLOC_LEVELS] = {first};
static uint32_t level_count = 1;
uint8_t kymo_alloc_filter[KYMO_ALLOC_FILTER_BYTES];

static uint32_t level_slots(uint32_t level)
{
    return 1u << (FIRST_BITS + level * LEVEL_BITS);
}

static size_t level_bytes(uint32_t level)
{
    return level_slots(level) * sizeof(struct kymo_alloc_slot);
}

/* ---- filter ---- */

/* 255 stays: how many more there were is not known. */
static void filter_add(uint64_t address)
{
    uint8_t *counter = kymo_alloc_filter_of(address);
    uint8_t seen = kymo_load_relaxed(counter);
    while (seen != UINT8_MAX && !kymo_cas_relaxed(counter, &seen, (uint8_t)(seen + 1))) {
    }
}

static void filter_sub(uint64_t address)
{
    uint8_t *counter = kymo_alloc_filter_of(address);
    uint8_t seen = kymo_load_relaxed(counter);
    while (seen != UINT8_MAX && seen != 0 &&
           !kymo_cas_relaxed(counter, &seen, (uint8_t)(seen - 1))) {
    }
}

/* ---- levels ---- */

/* NULL: there is no memory, or it may not be asked for. */
static KYMO_NOINLINE struct kymo_alloc_slot *map_level(uint32_t level, int may_map)
{
    if (!may_map)
        return NULL;
    /* Where the program has new mappings locked, this one would be resident at once: only what may
     * be accessed is. */
    long map = kymo_syscall6(SYS_mmap, 0, (long)level_bytes(level), PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map < 0 && map > -4096)
        return NULL;
    (void)kymo_syscall3(SYS_munlock, map, (long)level_bytes(level), 0);
    if (kymo_syscall3(SYS_mprotect, map, (long)level_bytes(level), PROT_READ | PROT_WRITE) != 0) {
        (void)kymo_syscall3(SYS_munmap, map, (long)level_bytes(level), 0);
        return NULL;
    }
    /* Buckets are strewn over it: a page that is large would be all of it at once. */
    (void)kymo_syscall3(SYS_madvise, map, (long)level_bytes(level), MADV_NOHUGEPAGE);
    (void)kymo_syscall3(SYS_madvise, map, (long)level_bytes(level), MADV_DONTDUMP);
    struct kymo_alloc_slot *mine = (struct kymo_alloc_slot *)(intptr_t)map, *other = NULL;
    /* Pairs with the acquires of the threads that use the level. */
    if (kymo_cas_acq_rel(&levels[level], &other, mine)) {
        kymo_add_relaxed(&level_count, 1u);
        return mine;
    }
    (void)kymo_syscall3(SYS_munmap, map, (long)level_bytes(level), 0);
    return other;
}

static struct kymo_alloc_slot *bucket_of(struct kymo_alloc_slot *level, uint32_t number,
                                         uint64_t hash)
{
    return level + (hash & (level_slots(number) - 1) & ~(uint64_t)(BUCKET_SLOTS - 1));
}

static int put_into(struct kymo_alloc_slot *bucket, uint64_t address, uint64_t id)
{
    for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
        uint64_t none = 0;
        if (kymo_load_relaxed(&bucket[i].address) != 0 ||
            !kymo_cas_acq_rel(&bucket[i].address, &none, address))
            continue;
        /* Pairs with the acquire of kymo_alloc_table_next. */
        kymo_store_release(&bucket[i].id, id);
        return 1;
    }
    return 0;
}

int kymo_alloc_table_put(uint64_t address, uint64_t id, int may_map)
{
    uint64_t hash = kymo_hash_mix(0, address);
    filter_add(address);
    for (uint32_t i = 0; i < KYMO_ALLOC_LEVELS; i++) {
        struct kymo_alloc_slot *level = kymo_load_acquire(&levels[i]);
        if (kymo_unlikely(!level) && !(level = map_level(i, may_map)))
            break;
        if (put_into(bucket_of(level, i, hash), address, id))
            return 1;
    }
    filter_sub(address);
    return 0;
}

static struct kymo_alloc_slot *find(uint64_t address)
{
    uint64_t hash = kymo_hash_mix(0, address);
    for (uint32_t i = 0; i < KYMO_ALLOC_LEVELS; i++) {
        struct kymo_alloc_slot *level = kymo_load_acquire(&levels[i]);
        if (!level)
            break;
        struct kymo_alloc_slot *bucket = bucket_of(level, i, hash);
        for (uint32_t k = 0; k < BUCKET_SLOTS; k++)
            if (kymo_load_relaxed(&bucket[k].address) == address)
                return &bucket[k];
    }
    return NULL;
}

void kymo_alloc_table_fetch(uint64_t address)
{
    __builtin_prefetch(bucket_of(first, 0, kymo_hash_mix(0, address)), 1);
}

uint64_t kymo_alloc_table_find(uint64_t address, struct kymo_alloc_slot **slot)
{
    *slot = find(address);
    return *slot ? kymo_load_relaxed(&(*slot)->id) : 0;
}

void kymo_alloc_table_remove(uint64_t address, struct kymo_alloc_slot *slot)
{
    kymo_store_relaxed(&slot->id, 0u);
    /* Pairs with the compare-and-exchange of the thread that puts another address here. */
    kymo_store_release(&slot->address, 0u);
    filter_sub(address);
}

int kymo_alloc_table_next(struct kymo_alloc_cursor *at, uint32_t *slots, uint64_t *address,
                          uint64_t *id)
{
    while (*slots > 0) {
        struct kymo_alloc_slot *level =
            at->level < KYMO_ALLOC_LEVELS ? kymo_load_acquire(&levels[at->level]) : NULL;
        if (!level)
            return -1;
        struct kymo_alloc_slot *slot = &level[at->slot++];
        --*slots;
        if (at->slot == level_slots(at->level))
            *at = (struct kymo_alloc_cursor){at->level + 1, 0};
        *id = kymo_load_acquire(&slot->id);
        *address = kymo_load_relaxed(&slot->address);
        /* One that is let go, and perhaps claimed anew, meanwhile is neither there nor not. */
        if (*id != 0 && *address != 0 && kymo_load_acquire(&slot->id) == *id)
            return 1;
    }
    return 0;
}

uint64_t kymo_alloc_table_level(uint32_t level, uint64_t *bytes)
{
    struct kymo_alloc_slot *at =
        level < KYMO_ALLOC_LEVELS ? kymo_load_acquire(&levels[level]) : NULL;
    *bytes = at ? level_bytes(level) : 0;
    return (uint64_t)(uintptr_t)at;
}

uint32_t kymo_alloc_table_levels(void)
{
    return kymo_load_relaxed(&level_count);
}
