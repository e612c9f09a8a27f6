/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_marks_fixture.h"

#define PAGE 4096ull

static kymo_event_mapping map_of(uint32_t op, uint64_t time_ns, uint64_t page, uint64_t pages)
{
    return (kymo_event_mapping){.stack = KYMO_EVENT_NONE,
                                .time_ns = time_ns,
                                .address = page * PAGE,
                                .bytes = pages * PAGE,
                                .op = op};
}

static void send_map(uint32_t op, uint64_t time_ns, uint64_t page, uint64_t pages)
{
    send(mapping, map_of(op, time_ns, page, pages));
}

static void send_move(uint64_t time_ns, uint64_t from, uint64_t pages_before, uint64_t to,
                      uint64_t pages)
{
    kymo_event_mapping e = map_of(KYMO_MAP_MOVE, time_ns, to, pages);
    e.before = from * PAGE;
    e.bytes_before = pages_before * PAGE;
    send(mapping, e);
}

/* Row i: which pages, from when to when; to 0: they live. */
static const kymo_mapping *assert_row(size_t i, uint64_t page, uint64_t pages, uint64_t from,
                                      uint64_t to)
{
    size_t count;
    const kymo_mapping *rows = kymo_profile_mappings(profile, 0, &count);
    assert_true(i < count);
    assert_int_equal(rows[i].address / PAGE, page);
    assert_int_equal(rows[i].bytes / PAGE, pages);
    assert_int_equal(rows[i].time_ns, from);
    assert_true(rows[i].end_ns == (to ? to : KYMO_LIVES));
    return &rows[i];
}

static void assert_count(size_t expected)
{
    size_t count;
    kymo_profile_mappings(profile, 0, &count);
    assert_int_equal(count, expected);
}

static void pieces_add_up(void **state)
{
    (void)state;
    send_map(KYMO_MAP_MAP, 10, 100, 10);
    send_map(KYMO_MAP_UNMAP, 30, 105, 2); /* out of its middle */
    send_map(KYMO_MAP_UNMAP, 40, 90, 12); /* its beginning, and what was never there */
    send_map(KYMO_MAP_UNMAP, 50, 500, 3);
    finish();
    assert_count(4);
    assert_row(0, 100, 2, 10, 40);
    assert_row(1, 102, 3, 10, 0);
    assert_row(2, 105, 2, 10, 30);
    assert_row(3, 107, 3, 10, 0);
}

static void what_is_mapped_over_is_gone(void **state)
{
    (void)state;
    send_map(KYMO_MAP_MAP, 10, 100, 4);
    send_map(KYMO_MAP_MAP, 10, 104, 4);
    send_map(KYMO_MAP_MAP, 20, 102, 4);
    finish();
    assert_count(5);
    assert_row(0, 100, 2, 10, 0);
    assert_row(1, 102, 2, 10, 20);
    assert_row(2, 104, 2, 10, 20);
    assert_row(3, 106, 2, 10, 0);
    assert_row(4, 102, 4, 20, 0);
}

static void threads_come_in_any_order(void **state)
{
    (void)state;
    kymo_event_mapping e = map_of(KYMO_MAP_UNMAP, 20, 100, 4);
    e.thread = 1;
    send(mapping, e); /* the address is used again at 30 */
    send_map(KYMO_MAP_MAP, 30, 100, 4);
    e = map_of(KYMO_MAP_MAP, 10, 100, 4);
    e.thread = 2;
    send(mapping, e);
    finish();
    assert_count(2);
    assert_int_equal(assert_row(0, 100, 4, 10, 20)->thread, 2);
    assert_int_equal(assert_row(1, 100, 4, 30, 0)->thread, 0);
}

static void moves_and_the_break(void **state)
{
    (void)state;
    kymo_event_frame frame = {0x1000, KYMO_EVENT_NONE, 0};
    send(stack,
         (kymo_event_stack){.flags = KYMO_EVENT_STACK_COMPLETE, .depth = 1, .frames = &frame});
    kymo_event_mapping e = map_of(KYMO_MAP_MAP, 10, 100, 4);
    e.stack = 0;
    e.how = KYMO_MAP_BY_ALLOCATOR;
    send(mapping, e);
    send_move(20, 100, 4, 100, 6); /* larger where it is */
    send_move(30, 100, 6, 100, 5); /* smaller */
    send_move(40, 100, 5, 300, 8); /* elsewhere */
    send_map(KYMO_MAP_BREAK, 50, 900, 3);
    e = map_of(KYMO_MAP_BREAK, 60, 902, 0);
    e.bytes_before = PAGE;
    send(mapping, e);
    send_map(KYMO_MAP_SHARED, 70, 950, 1);
    finish();
    assert_count(7);
    const kymo_mapping *first = assert_row(0, 100, 4, 10, 40);
    assert_row(1, 104, 1, 20, 40);
    assert_row(2, 105, 1, 20, 30);
    const kymo_mapping *moved = assert_row(3, 300, 8, 40, 0);
    assert_int_equal(moved->stack, first->stack);
    assert_int_equal(moved->how, KYMO_MAP_BY_ALLOCATOR);
    assert_row(4, 900, 2, 50, 0);
    assert_row(5, 902, 1, 50, 60);
    assert_int_equal(assert_row(6, 950, 1, 70, 0)->how, KYMO_MAP_IS_SHARED);
}

static void lengths_are_of_whole_pages(void **state)
{
    (void)state;
    kymo_event_mapping e = map_of(KYMO_MAP_MAP, 10, 100, 25);
    send(mapping, e);
    e = map_of(KYMO_MAP_UNMAP, 20, 100, 0);
    e.bytes = 24 * PAGE + 1;
    send(mapping, e);
    e = map_of(KYMO_MAP_MAP, 30, 200, 0);
    e.bytes = 2 * PAGE - 1;
    send(mapping, e);
    e = map_of(KYMO_MAP_MOVE, 40, 300, 3);
    e.before = 200 * PAGE;
    e.bytes_before = PAGE + 1;
    send(mapping, e);
    finish();
    assert_count(3);
    assert_row(0, 100, 25, 10, 20);
    assert_row(1, 200, 2, 30, 40);
    assert_row(2, 300, 3, 40, 0);
}

static void what_cannot_be_mapped_is_not(void **state)
{
    (void)state;
    kymo_event_mapping wrong[2] = {map_of(KYMO_MAP_MAP, 1, 1, 1), map_of(KYMO_MAP_MAP, 1, 1, 1)};
    wrong[0].thread = 4;
    wrong[1].stack = 0;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(kymo_ingest_handler.mapping(ingest, &wrong[i]), KYMO_E_INVALID);
    kymo_event_mapping e = map_of(KYMO_MAP_MAP, 1, 5, 1);
    e.bytes = UINT64_MAX;
    for (e.op = 0; e.op < 9; e.op++)
        send(mapping, e);
    e.bytes = 0;
    e.bytes_before = UINT64_MAX;
    for (e.op = 0; e.op < 9; e.op++)
        send(mapping, e);
    finish();
    assert_count(0);
}

/* A page here and a page there, given and taken at random, against a table of them. */
static void what_is_there_is_what_was_there(void **state)
{
    (void)state;
    static uint64_t since[400]; /* 0: not there */
    uint64_t bits = 7;
    for (uint64_t time = 1; time <= 2000; time++) {
        bits = bits * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t page = (bits >> 33) % 380, pages = 1 + (bits >> 50) % 20;
        int is_there = (bits >> 60) % 2;
        send_map(is_there ? KYMO_MAP_MAP : KYMO_MAP_UNMAP, time, page, pages);
        for (uint64_t i = page; i < page + pages; i++)
            since[i] = is_there ? time : 0;
    }
    finish();
    size_t count;
    const kymo_mapping *rows = kymo_profile_mappings(profile, 0, &count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].end_ns != KYMO_LIVES)
            continue;
        for (uint64_t p = 0; p < rows[i].bytes / PAGE; p++) {
            uint64_t *page = &since[rows[i].address / PAGE + p];
            assert_int_equal(*page, rows[i].time_ns);
            *page = 0;
        }
    }
    for (size_t i = 0; i < 400; i++)
        assert_int_equal(since[i], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_add_up),
        TEST(what_is_mapped_over_is_gone),
        TEST(threads_come_in_any_order),
        TEST(moves_and_the_break),
        TEST(lengths_are_of_whole_pages),
        TEST(what_cannot_be_mapped_is_not),
        TEST(what_is_there_is_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
