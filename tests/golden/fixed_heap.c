/* SPDX-License-Identifier: Apache-2.0 */
#include "fixed_heap.h"

#include "fixed_must.h"

#define MS 1000000ull
#define LIVES UINT64_MAX

/* A row to be changed and added: of 1000 bytes, which stands for 4 blocks. */
static kymo_allocation block(const fixed_owners *o, uint64_t time, uint64_t end, uint64_t address)
{
    uint64_t time_ns = o->origin_ns + time;
    return (kymo_allocation){.time_ns = time_ns,
                             .end_ns = end == LIVES ? KYMO_LIVES : o->origin_ns + end,
                             .birth_ns = time_ns,
                             .address = address,
                             .bytes = 1000,
                             .weight = 4,
                             .slack = 8,
                             .thread = o->leader,
                             .end_thread = end == LIVES ? KYMO_NONE : o->leader,
                             .distance = UINT32_MAX,
                             .stack = o->stack,
                             .labels = KYMO_NONE,
                             .previous = KYMO_NONE,
                             .family = KYMO_FAMILY_MALLOC};
}

static uint32_t add(kymo_profile *p, uint32_t process, const kymo_allocation *a)
{
    uint32_t row;
    must(kymo_profile_add_allocation(p, process, a, &row));
    return row;
}

/* Of 100 bytes, then 300, then 50. */
static void add_resized(kymo_profile *p, const fixed_owners *o, uint32_t other_stack)
{
    kymo_allocation a = block(o, 5 * MS, 6 * MS, 0x5000);
    a.bytes = 100;
    a.weight = 10;
    a.was_resized = 1;
    a.previous = add(p, o->parent, &a);
    a.time_ns = a.end_ns;
    a.end_ns += MS;
    a.address = 0x6000;
    a.bytes = 300;
    a.weight = 4.5;
    a.stack = other_stack;
    a.family = KYMO_FAMILY_REALLOC;
    a.previous = add(p, o->parent, &a);
    a.time_ns = a.end_ns;
    a.end_ns = KYMO_LIVES;
    a.bytes = 50;
    a.was_resized = 0;
    a.end_thread = KYMO_NONE;
    add(p, o->parent, &a);
}

static void add_blocks(kymo_profile *p, const fixed_owners *o, uint32_t other_stack)
{
    kymo_label label = {.key = string(p, "bytes"), .value = {.kind = KYMO_VALUE_U64, .as.u64 = 17}};
    kymo_allocation a = block(o, 2 * MS, LIVES, 0x7f0000001000);
    add(p, o->parent, &a);
    a = block(o, 3 * MS, 20 * MS, 0x7f0000002000); /* freed by another thread */
    a.end_thread = o->worker;
    a.weight = 4.25;
    add(p, o->parent, &a);
    a = block(o, 20 * MS, LIVES, 0x7f0000002000); /* the same address, at the same time */
    a.thread = o->worker;
    add(p, o->parent, &a);
    a = block(o, 10 * MS, LIVES, 0x7f0000003000); /* of the same thread and stack, larger */
    a.bytes = 1 << 20;
    a.weight = 1.25;
    add(p, o->parent, &a);
    a.address = 0x7f0000203000;
    must(kymo_profile_add_label_set(p, &label, 1, &a.labels));
    a.end_ns = a.time_ns + 5 * MS;
    add(p, o->parent, &a);
    a = block(o, 56 * MS, LIVES, 0x1000); /* too young for a leak, and without a stack */
    a.stack = KYMO_NONE;
    add(p, o->parent, &a);
    a = block(o, 30 * MS, 30 * MS, 0x2000); /* no time at all */
    add(p, o->parent, &a);
    a = block(o, 31 * MS, LIVES, 0x3000); /* no bytes */
    a.bytes = 0;
    a.weight = 1;
    add(p, o->parent, &a);
    add_resized(p, o, other_stack);
}

static void add_child(kymo_profile *p, const fixed_owners *o)
{
    kymo_allocation a = block(o, 10 * MS, LIVES, 0x7f0000001000);
    a.birth_ns = o->origin_ns + 2 * MS;
    a.thread = o->other;
    a.origin = KYMO_ORIGIN_FORKED;
    add(p, o->child, &a);
    a.address = 0x7f0000002000;
    a.end_ns = o->origin_ns + 12 * MS;
    a.end_thread = o->other;
    add(p, o->child, &a);
}

static void add_mapping(kymo_profile *p, const fixed_owners *o, uint64_t time, uint64_t end,
                        uint64_t bytes, uint32_t how)
{
    must(kymo_profile_add_mapping(
        p, o->parent,
        &(kymo_mapping){.time_ns = o->origin_ns + time,
                        .end_ns = end == LIVES ? KYMO_LIVES : o->origin_ns + end,
                        .address = 0x7e0000000000,
                        .bytes = bytes,
                        .thread = o->leader,
                        .stack = o->stack,
                        .how = how}));
}

void fixed_heap(kymo_profile *p, const fixed_owners *o, uint32_t other_stack)
{
    add_blocks(p, o, other_stack);
    add_child(p, o);
    add_mapping(p, o, 4 * MS, 9 * MS, 65536, 0);
    add_mapping(p, o, 8 * MS, LIVES, 131072, 2);
    add_mapping(p, o, 1 * MS, LIVES, 1 << 26, 1); /* the allocator's own */
    must(kymo_profile_set_heap(p, &(kymo_heap){.size = sizeof(kymo_heap),
                                               .process = o->parent,
                                               .rate = 4096,
                                               .map_least = 65536,
                                               .count = 60,
                                               .bytes = 2700000,
                                               .lost = 2,
                                               .lost_frees = 1,
                                               .is_partial = 1,
                                               .allocator = string(p, "glibc"),
                                               .not_seen = string(p, "libje.so: je_malloc")}));
}
