/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_floor.c - see marker_floor.h.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/cpu.h"
#include "marker_floor.h"

#define TICKS() kymo_counter_read()

enum {
    WARM_BYTES = 1 << 20, /* the largest batch fits */
    COLD_BYTES = 64 << 20,
    RECORD_MOST = 4096, /* one that begins at a ring's end may lie behind it */
    TEXT_MOST = 200,
};

struct ring {
    unsigned char *base;
    uint64_t mask;
    uint64_t head;
};
static __thread struct ring ring;
static __thread struct ring rings[FLOOR_PLACES];
static __thread enum floor_place place_now;

static void ring_open(struct ring *r, size_t bytes)
{
    r->base =
        mmap(NULL, bytes + RECORD_MOST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r->base == MAP_FAILED)
        exit(1);
    r->mask = bytes - 1;
    /* No page is new when it is measured. */
    memset(r->base, 1, bytes + RECORD_MOST);
}

void floor_open(void)
{
    ring_open(&rings[FLOOR_WARM], WARM_BYTES);
    ring_open(&rings[FLOOR_COLD], COLD_BYTES);
    ring = rings[FLOOR_WARM];
}

void floor_prepare(enum floor_place place)
{
    rings[place_now].head = ring.head;
    rings[FLOOR_WARM].head = 0;
    ring = rings[place];
    place_now = place;
}

static inline uint64_t *take(uint64_t head)
{
    return (uint64_t *)(ring.base + (head & ring.mask));
}

static inline void publish(uint64_t head)
{
    __atomic_store_n(&ring.head, head, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void put(uint32_t bytes, uint64_t i)
{
    uint64_t head = ring.head, *at = take(head);
    at[0] = TICKS();
    at[1] = 1;
#pragma GCC unroll 16
    for (uint32_t word = 2; word < bytes / 8; word++)
        at[word] = i;
    publish(head + bytes);
}

static inline __attribute__((always_inline)) void put_scope(uint32_t bytes, uint64_t i)
{
    uint64_t start = TICKS();
    __asm__ volatile("" ::: "memory");
    uint64_t head = ring.head, *at = take(head);
    at[0] = TICKS();
    at[1] = 1;
    at[2] = start;
#pragma GCC unroll 16
    for (uint32_t word = 3; word < bytes / 8; word++)
        at[word] = i;
    publish(head + bytes);
}

/* The text is the last 24 bytes, its length rounded up. */
static inline __attribute__((always_inline)) void put_text(uint32_t bytes, uint64_t i)
{
    const char *from = loop_text;
    size_t len = strlen(from);
    if (len > TEXT_MOST)
        len = TEXT_MOST;
    uint64_t head = ring.head, *at = take(head);
    at[0] = TICKS();
    at[1] = len << 32 | 1;
#pragma GCC unroll 16
    for (uint32_t word = 2; word < bytes / 8 - 3; word++)
        at[word] = i;
    memcpy(at + bytes / 8 - 3, from, len);
    publish(head + ((bytes - 24 + len + 7) & ~(size_t)7));
}

#define RINGS(F) F(16) F(24) F(32) F(40) F(48) F(56) F(64) F(72) F(80) F(88) F(96)
#define SCOPES(F) F(24) F(32) F(40) F(48) F(56)
#define TEXTS(F) F(40) F(48) F(56) F(64)
#define PAIRS(F) F(32) F(40) F(48) F(56) F(64) F(72) F(80) F(88) F(96) F(104) F(112)

#define RING(bytes) LOOP_OPERATION(ring##bytes, put(bytes, i))
#define SCOPE(bytes) LOOP_OPERATION(scope##bytes, put_scope(bytes, i))
#define TEXT(bytes) LOOP_OPERATION(text##bytes, put_text(bytes, i))
#define PAIR(bytes) \
    LOOP_OPERATION(pair##bytes, put((bytes) / 16 * 8, i); put((bytes) - (bytes) / 16 * 8, i))
RINGS(RING)
SCOPES(SCOPE)
TEXTS(TEXT)
PAIRS(PAIR)

#define RING_KIND(bytes) LOOP_KIND(ring##bytes),
#define SCOPE_KIND(bytes) LOOP_KIND(scope##bytes),
#define TEXT_KIND(bytes) LOOP_KIND(text##bytes),
#define PAIR_KIND(bytes) LOOP_KIND(pair##bytes),
const struct loop_kind floor_kinds[] = {RINGS(RING_KIND) SCOPES(SCOPE_KIND) TEXTS(TEXT_KIND)
                                            PAIRS(PAIR_KIND)};
const uint32_t floor_count = sizeof(floor_kinds) / sizeof(*floor_kinds);
