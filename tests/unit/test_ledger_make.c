/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/ledger_make.h"

#include "base/attr.h"
#include "heap_fixture.h"
#include "profile/estimate.h"
#include "recording/events_heap.h"

#define KIB 1024ull
#define HEAP 0x10000000ull
#define MAP 0x20000000ull
#define NOW 1500u

static struct heap_profile h;
static kymo_ledger lines[32];
static size_t line_count;

static int setup(void **state)
{
    h = new_heap_profile();
    line_count = 0;
    *state = h.p;
    return 0;
}

/* ---- what was recorded ---- */

static void add_line(uint32_t line, uint64_t bytes, uint64_t low, uint64_t high, const char *name)
{
    assert_true(line_count < KYMO_ARRAY_LEN(lines));
    lines[line_count++] = (kymo_ledger){.size = sizeof lines[0],
                                        .process = h.process[0],
                                        .line = line,
                                        .stack = KYMO_NONE,
                                        .name = add_string(h.p, name),
                                        .time_ns = NOW,
                                        .bytes = (int64_t)bytes,
                                        .low = low,
                                        .high = high};
}

static void add_piece(uint64_t lo, uint64_t size, uint64_t bytes)
{
    add_line(KYMO_LEDGER_PIECE, bytes, lo, lo + size, lo < MAP ? "heap" : "");
}

static void add_block_at(uint64_t address, uint64_t bytes, uint32_t slack, double weight,
                         uint64_t from_ns, uint64_t to_ns)
{
    kymo_allocation block = block_of(&h, IN_LOAD, bytes, from_ns, to_ns);
    block.address = address;
    block.slack = slack;
    block.weight = weight;
    add_block(&h, &block);
}

static void add_mapping(int in, uint64_t address, uint64_t bytes, uint32_t how)
{
    kymo_mapping m = {.time_ns = 1100,
                      .end_ns = KYMO_LIVES,
                      .address = address,
                      .bytes = bytes,
                      .thread = h.thread[0],
                      .stack = h.stack[in],
                      .how = how};
    ok(kymo_profile_add_mapping(h.p, h.process[0], &m));
}

static void say(uint64_t allocated, uint64_t free_bytes, uint64_t taken, uint64_t when_ns)
{
    add_line(KYMO_LEDGER_SAID_ALLOCATED, allocated, when_ns, when_ns, "");
    add_line(KYMO_LEDGER_SAID_FREE, free_bytes, when_ns, when_ns, "");
    add_line(KYMO_LEDGER_SAID_TAKEN, taken, when_ns, when_ns, "");
}

/* ---- what is made of it ---- */

/* Also: all lines add up to the last one. */
static void make(uint64_t rss)
{
    add_line(KYMO_LEDGER_RSS, rss, 0, 0, "");
    ok(kymo_ledger_make_all(h.p, h.process[0], lines, line_count));
    ok(kymo_profile_finish(h.p));
    size_t count;
    int64_t sum = 0;
    const kymo_ledger *l = kymo_profile_ledger(h.p, &count);
    for (size_t i = 0; i < count; i++)
        if (kymo_ledger_is_whole(&l[i]))
            sum += l[i].line == KYMO_LEDGER_RSS ? -l[i].bytes : l[i].bytes;
    assert_int_equal(sum, 0);
}

static const kymo_ledger *find(uint32_t line, uint32_t stack)
{
    size_t count;
    const kymo_ledger *l = kymo_profile_ledger(h.p, &count);
    for (size_t i = 0; i < count; i++)
        if (l[i].line == line && l[i].stack == stack && l[i].name == 0)
            return &l[i];
    return NULL;
}

static int64_t bytes_of(uint32_t line)
{
    const kymo_ledger *l = find(line, KYMO_NONE);
    return l ? l->bytes : 0;
}

/* ---- tests ---- */

static void what_blocks_leave_is_retained(void **state)
{
    (void)state;
    add_piece(HEAP, 100 * KIB, 100 * KIB);
    add_block_at(HEAP + 16, 1000, 24, 1, 1100, KYMO_LIVES);
    add_block_at(HEAP + 5000, 2000, 0, 1, 1100, KYMO_LIVES);
    add_block_at(HEAP + 9000, 3000, 0, 1, 1100, 1400);        /* freed */
    add_block_at(HEAP + 20000, 3000, 0, 1, 1600, KYMO_LIVES); /* later */
    add_line(KYMO_LEDGER_FILES, 7000, 0, 0, "");
    add_line(KYMO_LEDGER_FILES, 6000, 0, 0, "/lib/x");
    make(100 * KIB + 7000);
    assert_int_equal(bytes_of(KYMO_LEDGER_LIVE), 3000);
    assert_int_equal(find(KYMO_LEDGER_LIVE, KYMO_NONE)->high, 0);
    assert_int_equal(bytes_of(KYMO_LEDGER_SLACK), 24);
    assert_int_equal(bytes_of(KYMO_LEDGER_RETAINED), 100 * KIB - 3024);
    assert_int_equal(bytes_of(KYMO_LEDGER_FILES), 7000);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 0);
}

static void mappings_are_the_programs_by_stack(void **state)
{
    (void)state;
    add_piece(MAP, 64 * KIB, 64 * KIB);
    add_piece(MAP + 64 * KIB, 128 * KIB, 0);
    add_piece(MAP + 192 * KIB, 64 * KIB, 32 * KIB);
    add_piece(MAP + 512 * KIB, 64 * KIB, 64 * KIB);
    add_mapping(IN_LOAD, MAP, 128 * KIB, 0);
    add_mapping(IN_PARSE, MAP + 128 * KIB, 96 * KIB, 0);
    add_mapping(IN_PARSE, MAP + 512 * KIB, 64 * KIB, 2); /* of a file: the kernel's to say */
    make(160 * KIB);
    assert_int_equal(bytes_of(KYMO_LEDGER_MAPPED), 80 * KIB);
    assert_int_equal(find(KYMO_LEDGER_MAPPED, h.stack[IN_LOAD])->bytes, 64 * KIB);
    assert_int_equal(find(KYMO_LEDGER_MAPPED, h.stack[IN_PARSE])->bytes, 16 * KIB);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 80 * KIB);
}

static void an_allocators_mapping_is_its_own(void **state)
{
    (void)state;
    add_piece(MAP, 64 * KIB, 64 * KIB);
    add_mapping(IN_LOAD, MAP, 64 * KIB, 1);
    make(64 * KIB);
    assert_int_equal(bytes_of(KYMO_LEDGER_RETAINED), 64 * KIB);
    assert_int_equal(bytes_of(KYMO_LEDGER_MAPPED), 0);
}

static void an_area_with_a_block_is_the_allocators(void **state)
{
    (void)state;
    add_piece(MAP, 64 * KIB, 16 * KIB);
    add_piece(MAP + 64 * KIB, 64 * KIB, 64 * KIB); /* of the same area */
    add_piece(MAP + 256 * KIB, 64 * KIB, 64 * KIB);
    add_block_at(MAP + 16, 100, 0, 1, 1100, KYMO_LIVES);
    make(144 * KIB);
    assert_int_equal(bytes_of(KYMO_LEDGER_LIVE), 100);
    assert_int_equal(bytes_of(KYMO_LEDGER_RETAINED), 80 * KIB - 100);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 64 * KIB);
}

static void a_block_counts_as_far_as_it_is_there(void **state)
{
    (void)state;
    add_piece(MAP, 64 * KIB, 64 * KIB);
    add_piece(MAP + 64 * KIB, 960 * KIB, 0);
    add_block_at(MAP, 1024 * KIB, 0, 1, 1100, KYMO_LIVES);
    add_block_at(MAP + (4ull << 30), 1024 * KIB, 0, 1, 1100, KYMO_LIVES); /* nothing of it */
    make(64 * KIB);
    assert_int_equal(bytes_of(KYMO_LEDGER_LIVE), 64 * KIB);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 0);
}

/* 100 samples of 1000 bytes each, for 10 blocks each. */
static void add_samples(void)
{
    for (unsigned i = 0; i < 100; i++)
        add_block_at(HEAP + i * 10000, 1000, 0, 10, 1100, KYMO_LIVES);
}

static void within_the_interval_the_allocator_is_believed(void **state)
{
    (void)state;
    add_samples(); /* 1000000 */
    add_piece(HEAP, 1200000, 1200000);
    say(1060000, 140000, 1200000, NOW);
    make(1200000);
    const kymo_ledger *live = find(KYMO_LEDGER_LIVE, KYMO_NONE);
    assert_int_equal(live->bytes, 1060000);
    assert_true(live->low > 700000 && live->low < 950000);
    assert_true(live->high > 1060000 && live->high < 1300000);
    assert_int_equal(bytes_of(KYMO_LEDGER_RETAINED), 140000);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 0);
}

static void blocks_that_were_not_seen_are_unexplained(void **state)
{
    (void)state;
    add_samples();
    add_piece(HEAP, 9000000, 9000000);
    say(8000000, 1000000, 9000000, NOW);
    make(9000000);
    const kymo_ledger *live = find(KYMO_LEDGER_LIVE, KYMO_NONE);
    assert_int_equal(live->bytes, live->high);
    assert_int_equal(bytes_of(KYMO_LEDGER_RETAINED), 1000000);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 8000000 - live->bytes);
}

static void what_nobody_keeps_is_unexplained(void **state)
{
    (void)state;
    add_block_at(HEAP, 4000, 0, 1, 1100, KYMO_LIVES);
    add_piece(HEAP, 1000000, 1000000);
    add_piece(MAP, 500000, 500000);
    say(4000, 600000, 604000, NOW);
    make(1500000);
    assert_int_equal(bytes_of(KYMO_LEDGER_LIVE), 4000);
    assert_int_equal(bytes_of(KYMO_LEDGER_RETAINED), 600000);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 896000);
}

static void what_the_allocator_said_is_carried_on(void **state)
{
    (void)state;
    /* It spoke at 1200: 6000 in blocks, of which 5000 are freed by now, and 2000 came. */
    add_block_at(HEAP, 5000, 0, 1, 1100, 1300);
    add_block_at(HEAP + 8000, 1000, 0, 1, 1100, KYMO_LIVES);
    add_block_at(HEAP + 16000, 2000, 0, 1, 1400, KYMO_LIVES);
    add_piece(HEAP, 100000, 100000);
    say(6000, 94000, 100000, 1200);
    make(100000);
    assert_int_equal(bytes_of(KYMO_LEDGER_LIVE), 3000);
    assert_int_equal(bytes_of(KYMO_LEDGER_RETAINED), 97000);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 0);
}

/* A hundred blocks come and go, one after the other: the allocator needs one more at a time. */
static void come_and_go(uint64_t from_ns, uint64_t said_ns)
{
    add_block_at(HEAP, 4000, 0, 1, 1100, KYMO_LIVES);
    for (unsigned i = 0; i < 100; i++)
        add_block_at(HEAP + 5000, 5000, 0, 1, from_ns + 2 * i, from_ns + 2 * i + 1);
    add_piece(HEAP, 100000, 100000);
    add_piece(MAP, 500000, 500000);
    say(4000, 146000, 150000, said_ns);
    make(600000);
    assert_int_equal(bytes_of(KYMO_LEDGER_LIVE), 4000);
    assert_int_equal(bytes_of(KYMO_LEDGER_RETAINED), 151000);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 445000);
}

static void what_came_and_went_explains_nothing(void **state)
{
    (void)state;
    come_and_go(1210, 1200);
}

static void nor_does_it_before_the_allocator_spoke(void **state)
{
    (void)state;
    come_and_go(1510, 1800);
}

static void more_blocks_than_memory_are_a_negative_rest(void **state)
{
    (void)state;
    add_block_at(HEAP, 3000, 0, 4, 1100, KYMO_LIVES);
    add_piece(HEAP, 4096, 1000);
    make(1000);
    const kymo_ledger *live = find(KYMO_LEDGER_LIVE, KYMO_NONE);
    assert_int_equal(live->bytes, live->low);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 1000 - live->bytes);
}

static void broken_pieces_are_none(void **state)
{
    (void)state;
    add_piece(HEAP, 1000, 1000);
    add_piece(HEAP + 500, 1000, 1000);
    add_piece(HEAP + 5000, 10, 1000);
    add_line(KYMO_LEDGER_PIECE, 5, HEAP + 9000, HEAP + 9000, "");
    make(2000);
    assert_int_equal(bytes_of(KYMO_LEDGER_RETAINED), 1000);
    assert_int_equal(bytes_of(KYMO_LEDGER_UNEXPLAINED), 1000);
}

static void there_are_not_many_moments(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 9; i++) {
        add_piece(HEAP, 1000, 1000);
        lines[line_count - 1].time_ns = NOW + i;
    }
    assert_int_equal(kymo_ledger_make_all(h.p, h.process[0], lines, line_count), KYMO_E_TOO_BIG);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, destroy_profile)
    const struct CMUnitTest tests[] = {
        T(what_blocks_leave_is_retained),
        T(mappings_are_the_programs_by_stack),
        T(an_allocators_mapping_is_its_own),
        T(an_area_with_a_block_is_the_allocators),
        T(a_block_counts_as_far_as_it_is_there),
        T(within_the_interval_the_allocator_is_believed),
        T(blocks_that_were_not_seen_are_unexplained),
        T(what_nobody_keeps_is_unexplained),
        T(what_the_allocator_said_is_carried_on),
        T(what_came_and_went_explains_nothing),
        T(nor_does_it_before_the_allocator_spoke),
        T(more_blocks_than_memory_are_a_negative_rest),
        T(broken_pieces_are_none),
        T(there_are_not_many_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#undef T
}
