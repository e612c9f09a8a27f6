/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of memory in a recording: rows that count from each other, values that cannot be, chunks
 * that are broken or of a later version.
 */
#include "recording_fixture.h"

#include <string.h>

#include "buffer/record.h"
#include "recording/file_chunks.h"
#include "recording/recording_format.h"

#define NONE KYMO_EVENT_NONE

/* Process 7 with threads 9 and 10, and a stack 4: ids that a reader changes. */
static kymo_err emit_start(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(h->meta(ctx, &(kymo_event_meta){.start_ns = 5, .host = "h"}));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.process = 7, .pid = 1}));
    KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.thread = 10, .process = 7, .tid = 2}));
    KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.thread = 9, .process = 7, .tid = 1}));
    return h->stack(ctx, &(kymo_event_stack){.process = 7, .stack = 4});
}

static kymo_event_allocation allocation(uint32_t thread, uint64_t id)
{
    return (kymo_event_allocation){
        .thread = thread,
        .stack = 4,
        .time_ns = 1000,
        .id = id,
        .address = 0x1000,
        .bytes = 24,
        .rate = 1,
    };
}

/* ---- the writer ---- */

#define PAIRS 10000u

/* As a program does that allocates and frees: 8 threads' streams in turn, ids as record.h has them.
 */
static kymo_err emit_pairs(const kymo_event_handler *h, void *ctx)
{
    uint64_t time = 50000000000;
    KYMO_TRY(emit_start(h, ctx));
    for (uint32_t i = 0; i < PAIRS; i++) {
        kymo_event_allocation e = allocation(9, 3ull << 40 | (i + 1));
        e.time_ns = time += 700;
        e.address = 0x7f0000001000 + 48 * (i % 64);
        e.bytes = 16 + i % 1000;
        e.slack = 8;
        KYMO_TRY(h->allocation(ctx, &e));
        KYMO_TRY(h->free(ctx, &(kymo_event_free){9, i + 1, time += 300, e.id}));
    }
    return KYMO_OK;
}

/* ctx: the writer. */
static kymo_err emit_pairs_in_a_hurry(const kymo_event_handler *h, void *ctx)
{
    kymo_recording_hurry(ctx, 1);
    return emit_pairs(h, ctx);
}

static void an_allocation_and_its_end_are_few_bytes(void **state)
{
    (void)state;
    kymo_bytes start = file_of(emit_start);
    kymo_bytes plain = file_of(emit_pairs_in_a_hurry);
    kymo_bytes packed = file_of(emit_pairs);
    assert_true(plain.len - start.len < PAIRS * 24);
    /* Who has time for it makes them fewer, and tells the same. */
    assert_true(packed.len - start.len < PAIRS * 8);
    kymo_str told = {0}, other = {0};
    (void)read_into(&plain, &told);
    (void)read_into(&packed, &other);
    assert_string_equal(kymo_str_cstr(&told), kymo_str_cstr(&other));
    kymo_str_deinit(&told);
    kymo_str_deinit(&other);
    kymo_bytes_deinit(&start);
    kymo_bytes_deinit(&plain);
    kymo_bytes_deinit(&packed);
}

/* What is refused is not counted from. */
static kymo_err emit_refused(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(emit_start(h, ctx));
    kymo_event_allocation good = allocation(9, 1);
    KYMO_TRY(h->allocation(ctx, &good));
    kymo_event_allocation bad[6];
    for (unsigned i = 0; i < 6; i++)
        bad[i] = allocation(9, 1000);
    bad[0].time_ns = 0;
    bad[1].time_ns = KYMO_FILE_TIME_MAX + 1;
    bad[2].bytes = KYMO_FILE_BYTES_MAX + 1;
    bad[3].rate = 0;
    bad[4].rate = KYMO_FILE_BYTES_MAX + 1;
    bad[5].family = KYMO_ALLOC_FAMILIES;
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(h->allocation(ctx, &bad[i]), KYMO_E_INVALID);
        assert_int_equal(h->resize(ctx, &(kymo_event_resize){.now = bad[i]}), KYMO_E_INVALID);
    }
    kymo_event_resize resize = {.now = good, .usable_before = KYMO_FILE_BYTES_MAX + 1};
    assert_int_equal(h->resize(ctx, &resize), KYMO_E_INVALID);
    assert_int_equal(h->free(ctx, &(kymo_event_free){.thread = 9}), KYMO_E_INVALID);
    assert_int_equal(h->inherit(ctx, &(kymo_event_inherit){.thread = 9}), KYMO_E_INVALID);
    kymo_event_mapping map = {.thread = 9, .time_ns = 1, .op = KYMO_MAP_SHARED + 1};
    assert_int_equal(h->mapping(ctx, &map), KYMO_E_INVALID);
    map.op = KYMO_MAP_MAP;
    map.bytes_before = UINT64_MAX;
    assert_int_equal(h->mapping(ctx, &map), KYMO_E_INVALID);
    return h->free(ctx, &(kymo_event_free){9, 3, 1001, 1});
}

static void what_is_refused_leaves_no_trace(void **state)
{
    (void)state;
    kymo_str text = {0};
    kymo_bytes file = file_of(emit_refused);
    kymo_recording_report report = read_into(&file, &text);
    assert_memory_equal(&report.damage, &(kymo_recording_damage){0}, sizeof report.damage);
    assert_non_null(strstr(kymo_str_cstr(&text),
                           "allocation thread=1 time=1000 id=0x1 address=0x1000 bytes=24 rate=1"
                           " slack=0 family=0 stack=0\n"
                           "free thread=1 time=1001 id=0x1 count=3\n"));
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&file);
}

/* Two threads whose rows alternate: differences go from group to group; and chunks begin anew. */
static kymo_err emit_in_turn(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(emit_start(h, ctx));
    for (uint32_t i = 0; i < 2 * PAIRS; i++) {
        kymo_event_allocation e = allocation(9 + i % 2, i * 0x9e3779b97f4a7c15ull);
        e.time_ns = i % 2 ? 1000000 - i : 1000000 + i;
        e.address = i % 2 ? UINT64_MAX - i : i;
        KYMO_TRY(h->allocation(ctx, &e));
    }
    return KYMO_OK;
}

static kymo_err expect_in_turn(void *ctx, const kymo_event_allocation *e)
{
    uint32_t i = (*(uint32_t *)ctx)++;
    assert_int_equal(e->thread, i % 2 ? 0 : 1);
    assert_int_equal(e->id, i * 0x9e3779b97f4a7c15ull);
    assert_int_equal(e->time_ns, i % 2 ? 1000000 - i : 1000000 + i);
    assert_int_equal(e->address, i % 2 ? UINT64_MAX - i : i);
    return KYMO_OK;
}

static void rows_of_several_threads_count_from_each_other(void **state)
{
    (void)state;
    const kymo_event_handler handler = {.allocation = expect_in_turn};
    kymo_recording_report report;
    uint32_t seen = 0;
    kymo_bytes file = file_of(emit_in_turn);
    assert_int_equal(
        kymo_recording_read_memory(file.data, file.len, 0, &handler, &seen, &report, NULL),
        KYMO_OK);
    assert_int_equal(seen, 2 * PAIRS);
    assert_memory_equal(&report.damage, &(kymo_recording_damage){0}, sizeof report.damage);
    kymo_bytes_deinit(&file);
}

/* ---- chunks that are broken ---- */

#define HEAD(bytes, groups) bytes, 0, 0, 0, groups, 0, 0, 0
#define GROUP(owner, count) owner, 0, 0, 0, count, 0, 0, 0

struct bad_chunk {
    uint32_t type;
    size_t len;
    unsigned char bytes[64];
};

static kymo_recording_damage damage_of(const void *payload, size_t len, uint32_t type,
                                       kymo_str *text)
{
    kymo_bytes file = file_of(emit_start);
    assert_int_equal(file_chunk_put(&file, type, KYMO_CHUNK_SKIPPABLE, payload, len), KYMO_OK);
    kymo_recording_report report = read_into(&file, text);
    kymo_bytes_deinit(&file);
    return report.damage;
}

static void rows_are_not_believed(void **state)
{
    (void)state;
    static const struct bad_chunk chunks[] = {
        {KYMO_CHUNK_MEMORY, 0, {0}},
        {KYMO_CHUNK_MEMORY, 8, {HEAD(8, 1)}},
        /* rows of each kind that end too early: what, time, ... */
        {KYMO_CHUNK_MEMORY, 24, {HEAD(8, 1), GROUP(9, 1), 0, 0, 0, 0, 0, 0, 0, 0}},
        {KYMO_CHUNK_MEMORY, 24, {HEAD(8, 1), GROUP(9, 1), 7, 0, 2, 1, 1, 1, 1, 0}},
        {KYMO_CHUNK_MEMORY, 24, {HEAD(8, 1), GROUP(9, 1), 3, 1, 2, 1, 0, 0, 0, 0}},
        {KYMO_CHUNK_MEMORY, 32, {HEAD(8, 1), GROUP(9, 1), 9, 2, 2, 1, 1, 1, 1, 0, 0, 8}},
        {KYMO_CHUNK_MEMORY, 24, {HEAD(8, 1), GROUP(9, 1), 5, 3, 2, 1, 0, 1, 0, 0}},
        {KYMO_CHUNK_MEMORY, 24, {HEAD(8, 1), GROUP(9, 1), 7, 19, 2, 1, 0, 1, 1, 1}},
        {KYMO_CHUNK_MEMORY, 24, {HEAD(8, 1), GROUP(9, 1), 3, 4, 2, 1, 0, 0, 0, 0}},
        /* a stack that is not there */
        {KYMO_CHUNK_MEMORY, 32, {HEAD(8, 1), GROUP(9, 1), 8, 8, 2, 1, 1, 1, 1, 0, 0}},
        /* a slack of 2^32 */
        {KYMO_CHUNK_MEMORY,
         32,
         {HEAD(8, 1), GROUP(9, 1), 12, 0, 2, 1, 1, 1, 1, 0x80, 0x80, 0x80, 0x80, 0x10, 0}},
        {KYMO_CHUNK_HEAP, 48, {47, 0, 0, 0, 7}},
        {KYMO_CHUNK_HEAP, 48, {48, 0, 0, 0, 7}},
        {KYMO_CHUNK_LEDGER, 48, {48, 0, 0, 0, 7, 0, 0, 0, 1}},
        {KYMO_CHUNK_LEDGER, 8, {48, 0, 0, 0, 7}},
        {KYMO_CHUNK_MEMORY_INFO, 24, {24, 0, 0, 0, 7}},
        {KYMO_CHUNK_MEMORY_INFO, 16, {16, 0, 0, 0, 7}},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(chunks); i++) {
        kymo_str text = {0};
        kymo_recording_damage damage =
            damage_of(chunks[i].bytes, chunks[i].len, chunks[i].type, &text);
        assert_int_equal(damage.chunks, 1);
        assert_null(strstr(kymo_str_cstr(&text), "allocation"));
        kymo_str_deinit(&text);
    }
}

/* Each of them is left out and counted; the row behind it counts from it all the same. */
static void values_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    static const struct bad_chunk chunks[] = {
        /* a time of 0; a kind that there is not */
        {0, 0, {HEAD(8, 1), GROUP(9, 2), 8, 0, 0, 5, 1, 1, 1, 0, 0, 4, 1, 2, 0, 9}},
        {0, 0, {HEAD(8, 1), GROUP(9, 2), 2, 7, 1, 4, 1, 1, 5, 9}},
        /* a rate of 0, a family that there is not */
        {0, 0, {HEAD(8, 1), GROUP(9, 2), 8, 0, 1, 5, 1, 1, 0, 0, 0, 4, 1, 1, 0, 9}},
        {0, 0, {HEAD(8, 1), GROUP(9, 2), 8, 0, 1, 5, 1, 1, 1, 0, 9, 4, 1, 1, 0, 9}},
        /* 2^56 bytes and some; before, too */
        {0, 0, {HEAD(8, 1), GROUP(9, 2), 16,   0,    1, 5, 1, 0xff, 0xff, 0xff, 0xff, 0xff,
                0xff,       0xff,        0xff, 0x7f, 1, 0, 0, 4,    1,    1,    0,    9}},
        {0, 0, {HEAD(8, 1), GROUP(9, 2), 18,   2,    1,    5,    1,    1, 1, 0, 0, 0xff, 0xff,
                0xff,       0xff,        0xff, 0xff, 0xff, 0xff, 0x7f, 0, 4, 1, 1, 0,    9}},
        /* an operation that there is not */
        {0, 0, {HEAD(8, 1), GROUP(9, 2), 6, 3, 1, 0, 0, 1, 1, 4, 1, 1, 5, 9}},
        {0, 0, {HEAD(8, 1), GROUP(9, 2), 6, 3, 1, 6, 0, 1, 1, 4, 1, 1, 5, 9}},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(chunks); i++) {
        kymo_str text = {0};
        kymo_recording_damage damage =
            damage_of(chunks[i].bytes, sizeof chunks[i].bytes, KYMO_CHUNK_MEMORY, &text);
        assert_int_equal(damage.values, 1);
        assert_int_equal(damage.chunks + damage.references, 0);
        assert_null(strstr(kymo_str_cstr(&text), "allocation"));
        assert_non_null(strstr(kymo_str_cstr(&text), "free thread=1 time=2 id=0x5 count=9\n"));
        kymo_str_deinit(&text);
    }
}

static void unknown_threads_stacks_and_processes_are_counted(void **state)
{
    (void)state;
    static const unsigned char rows[] = {
        HEAD(8, 2),  GROUP(8, 1), 4, 1, 1, 5, 9,             /* thread 8 */
        GROUP(9, 1), 9,           8, 1, 0, 1, 1, 1, 0, 0, 3, /* stack 3 */
    };
    kymo_str text = {0};
    kymo_recording_damage damage = damage_of(rows, sizeof rows, KYMO_CHUNK_MEMORY, &text);
    assert_int_equal(damage.references, 2);
    assert_int_equal(damage.chunks + damage.values, 0);
    assert_null(strstr(kymo_str_cstr(&text), "free"));
    assert_non_null(strstr(kymo_str_cstr(&text), "allocation thread=1 time=2 id=0x5 address=0x1"
                                                 " bytes=1 rate=1 slack=0 family=0 stack=none\n"));
    kymo_str_deinit(&text);
    static const struct bad_chunk chunks[] = {
        {KYMO_CHUNK_HEAP, 56, {48, 0, 0, 0, 6}},
        {KYMO_CHUNK_LEDGER, 56, {48, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}},
        {KYMO_CHUNK_MEMORY_INFO, 32, {24, 0, 0, 0, 6, 0, 0, 0, 1, [24] = 'k'}},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(chunks); i++) {
        damage = damage_of(chunks[i].bytes, chunks[i].len, chunks[i].type, &text);
        assert_int_equal(damage.references, 1);
        kymo_str_deinit(&text);
    }
}

static void figures_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    static const struct bad_chunk chunks[] = {
        {KYMO_CHUNK_HEAP, 56, {48, 0, 0, 0, 7, [23] = 2}},
        /* lines 0 and 99, a time of 0, bytes of -2^63 */
        {KYMO_CHUNK_LEDGER, 56, {48, 0, 0, 0, 7, [16] = 1}},
        {KYMO_CHUNK_LEDGER, 56, {48, 0, 0, 0, 7, [8] = 99, [16] = 1}},
        {KYMO_CHUNK_LEDGER, 56, {48, 0, 0, 0, 7, [8] = 1}},
        {KYMO_CHUNK_LEDGER, 56, {48, 0, 0, 0, 7, [8] = 1, [16] = 1, [31] = 0x80}},
        /* no time, no name */
        {KYMO_CHUNK_MEMORY_INFO, 32, {24, 0, 0, 0, 7, [24] = 'k'}},
        {KYMO_CHUNK_MEMORY_INFO, 32, {24, 0, 0, 0, 7, [8] = 1}},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(chunks); i++) {
        kymo_str text = {0};
        kymo_recording_damage damage =
            damage_of(chunks[i].bytes, chunks[i].len, chunks[i].type, &text);
        assert_int_equal(damage.values, 1);
        assert_int_equal(damage.chunks + damage.references, 0);
        kymo_str_deinit(&text);
    }
}

static void what_later_versions_append_is_stepped_over(void **state)
{
    (void)state;
    /* A free with another flag and two more numbers. */
    static const unsigned char rows[] = {
        HEAD(10, 1), 0, 0, GROUP(9, 2), 7, 0x81, 0x04, 1, 5, 9, 1, 1, 4, 1, 1, 0, 1,
    };
    kymo_str text = {0};
    kymo_recording_damage damage = damage_of(rows, sizeof rows, KYMO_CHUNK_MEMORY, &text);
    assert_memory_equal(&damage, &(kymo_recording_damage){0}, sizeof damage);
    assert_non_null(strstr(kymo_str_cstr(&text), "free thread=1 time=1 id=0x5 count=9\n"
                                                 "free thread=1 time=2 id=0x5 count=10\n"));
    kymo_str_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_and_its_end_are_few_bytes),
        cmocka_unit_test(what_is_refused_leaves_no_trace),
        cmocka_unit_test(rows_of_several_threads_count_from_each_other),
        cmocka_unit_test(rows_are_not_believed),
        cmocka_unit_test(values_that_cannot_be_are_left_out),
        cmocka_unit_test(unknown_threads_stacks_and_processes_are_counted),
        cmocka_unit_test(figures_that_cannot_be_are_left_out),
        cmocka_unit_test(what_later_versions_append_is_stepped_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
