/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_heap.h"

#include "base/attr.h"
#include "buffer/record.h"
#include "kymo/marker_abi.h"

#define NONE KYMO_EVENT_NONE
#define ID(slot, count) ((uint64_t)(slot) << 40 | (count))

kymo_err sample_heap_define(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_heap heaps[] = {
        {0, 1, 524288, 65536, 100, 1 << 20, ""},
        {0, 1, 524288, 65536, 4000, 64 << 20, "libodd.so: je_malloc"},
        {1, 6, 1, 0, UINT64_MAX, 0, ""},
    };
    const kymo_event_ledger lines[] = {
        {0, KYMO_LEDGER_LIVE, 1800000000, 6 << 20, 5 << 20, 7 << 20, ""},
        {0, KYMO_LEDGER_FILES, 1800000000, 1 << 20, 0, 0, "/lib/libc.so.6"},
        {0, KYMO_LEDGER_UNEXPLAINED, 1800000000, -4096, 0, 0, ""},
        {0, KYMO_LEDGER_RSS, 1800000000, 9 << 20, 0, 0, ""},
    };
    const kymo_event_memory_info infos[] = {
        {0, 0, 1100000000, 512ull << 20, "cgroup.memory.max"},
        {1, 0, 1200000000, UINT64_MAX, "cgroup.memory.max"},
    };
    if (h->heap == NULL)
        return KYMO_OK;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(heaps); i++)
        KYMO_TRY(h->heap(ctx, &heaps[i]));
    for (size_t i = 0; i < KYMO_ARRAY_LEN(lines); i++)
        KYMO_TRY(h->ledger(ctx, &lines[i]));
    for (size_t i = 0; i < KYMO_ARRAY_LEN(infos); i++)
        KYMO_TRY(h->memory_info(ctx, &infos[i]));
    return KYMO_OK;
}

/* A block that lives, one that another thread frees, one that grows and is freed. */
static kymo_err emit_blocks(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_allocation lives = {0,    0,      1010000000, ID(0, 17),        0x555555560010,
                                         1000, 524288, 8,          KYMO_ALLOC_MALLOC};
    const kymo_event_allocation passed = {
        0, 1, 1011000000, ID(0, 90), 0x555555568010, 1 << 20, 524288, 4080, KYMO_ALLOC_NEW_ARRAY};
    kymo_event_resize grows = {
        {1, 2, 1012000000, ID(1, 3), 0x7ffff0000010, 5000, 524288, 0, KYMO_ALLOC_REALLOC},
        24,
        2,
        0};
    KYMO_TRY(h->allocation(ctx, &lives));
    KYMO_TRY(h->allocation(ctx, &passed));
    KYMO_TRY(h->resize(ctx, &grows));
    grows.now.time_ns += 1000;
    grows.now.bytes = 9000000;
    grows.now.stack = NONE;
    grows.now.slack = KYMO_ALLOC_SLACK_MAX;
    grows.usable_before = 5008;
    grows.was_drawn = 3;
    KYMO_TRY(h->resize(ctx, &grows));
    KYMO_TRY(h->free(ctx, &(kymo_event_free){1, 6, 1013000000, ID(0, 90)}));
    KYMO_TRY(h->free(ctx, &(kymo_event_free){1, 5, 1013000500, ID(1, 3)}));
    return h->free(ctx, &(kymo_event_free){0, UINT32_MAX, 1012999000, UINT64_MAX});
}

static kymo_err emit_mappings(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_mapping mappings[] = {
        {0, 3, 1020000000, 0x7fffe0000000, 1 << 30, 0, 0, KYMO_MAP_MAP, KYMO_MAP_OF_FILE},
        {0, 3, 1021000000, 0x7fffa0000000, 1ull << 31, 0x7fffe0000000, 1 << 30, KYMO_MAP_MOVE, 0},
        {0, NONE, 1022000000, 0x7fffa0000000, 4096, 0, 0, KYMO_MAP_UNMAP, 0},
        {0, NONE, 1023000000, 0x555555560000, 0, 0, 135168, KYMO_MAP_BREAK, KYMO_MAP_BY_ALLOCATOR},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(mappings); i++)
        KYMO_TRY(h->mapping(ctx, &mappings[i]));
    return KYMO_OK;
}

static kymo_err emit_live(const kymo_event_handler *h, void *ctx)
{
    static const kymo_event_live_label labels[] = {
        {"tenant", "blue", 0, KYMO_KIND_TEXT, 0},
        {"shard", NULL, 7, KYMO_KIND_U64, 0},
    };
    const kymo_event_live lives[] = {
        {0, 1, 0, 0, 1030000000, 900000000, ID(0, 70), 0x555555570010, 4000, 131.5, 8,
         KYMO_ALLOC_MALLOC, 0, KYMO_ARRAY_LEN(labels), labels},
        {3, 2, 0, 0, 1030000000, 1030000000, ID(2, 71), 0x20, 0, 1, 0, KYMO_ALLOC_NEW, 1, 0, NULL},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(lives); i++)
        KYMO_TRY(h->live(ctx, &lives[i]));
    return KYMO_OK;
}

kymo_err sample_heap_emit(const kymo_event_handler *h, void *ctx)
{
    if (h->allocation == NULL)
        return KYMO_OK;
    KYMO_TRY(emit_blocks(h, ctx));
    KYMO_TRY(emit_mappings(h, ctx));
    KYMO_TRY(emit_live(h, ctx));
    KYMO_TRY(h->inherit(ctx, &(kymo_event_inherit){3, 0, 1110000000, ID(0, 17), 0x555555560010}));
    /* Of the child's own, every one. */
    KYMO_TRY(h->allocation(ctx, &(kymo_event_allocation){3, 7, 1111000000, 1ull << 52, 0x10, 0, 1,
                                                         24, KYMO_ALLOC_CALLOC}));
    return h->free(ctx, &(kymo_event_free){3, 2, 1112000000, ID(0, 17)});
}
