/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_marks_fixture.h"

static void send_block(uint32_t thread, uint64_t id, uint64_t rate)
{
    send(allocation, (kymo_event_allocation){.thread = thread,
                                             .stack = KYMO_EVENT_NONE,
                                             .time_ns = 10,
                                             .id = id,
                                             .bytes = 10,
                                             .rate = rate});
}

static void send_loss(uint32_t process, uint32_t kind, const char *name, uint64_t count)
{
    send(loss, (kymo_event_loss){process, kind, count, name});
}

static void the_last_heap_counts(void **state)
{
    (void)state;
    for (uint64_t i = 1; i < 3; i++)
        send(heap, (kymo_event_heap){.allocator = 2,
                                     .rate = 4096,
                                     .map_least = 65536,
                                     .count = 100 * i,
                                     .bytes = 1000 * i,
                                     .not_seen = i == 2 ? "python: its own" : NULL});
    send_block(3, 1, 512); /* process 1, of which nothing was said */
    finish();
    const kymo_heap *h = kymo_profile_heap(profile, 0);
    assert_string_equal(text_of(h->allocator), "jemalloc");
    assert_string_equal(text_of(h->not_seen), "python: its own");
    assert_int_equal(h->rate, 4096);
    assert_int_equal(h->map_least, 65536);
    assert_int_equal(h->count, 200);
    assert_int_equal(h->bytes, 2000);
    assert_int_equal(h->is_partial, 0);
    assert_int_equal(kymo_profile_heap(profile, 1)->rate, 512);
    assert_string_equal(text_of(kymo_profile_heap(profile, 1)->allocator), "");
}

static void a_lost_record_makes_it_partial(void **state)
{
    (void)state;
    send(heap, (kymo_event_heap){.allocator = 99, .rate = 1});
    send_block(3, 1, 1);
    send_loss(0, 0, "samples: buffer full", 3);
    send_loss(0, 17, "allocations: buffer full", 4);
    send_loss(0, 18, "allocations: table full", 5);
    send_loss(0, 22, "frees: buffer full", 6);
    send_loss(1, 0, "samples: buffer full", 3);
    send_loss(1, 22, "frees: buffer full", 0);
    finish();
    const kymo_heap *h = kymo_profile_heap(profile, 0);
    assert_int_equal(h->lost, 9);
    assert_int_equal(h->lost_frees, 6);
    assert_int_equal(h->is_partial, 1);
    assert_string_equal(text_of(h->allocator), "");
    assert_int_equal(kymo_profile_heap(profile, 1)->is_partial, 0);
}

static void overwritten_records_may_be_any(void **state)
{
    (void)state;
    send_block(0, 1, 1);
    send_loss(0, 5, "records: session memory overwritten", 1);
    finish();
    assert_int_equal(kymo_profile_heap(profile, 0)->is_partial, 1);
    assert_null(kymo_profile_heap(profile, 1));
}

static void send_line(uint64_t time_ns, uint32_t line, const char *name, int64_t bytes)
{
    send(ledger, (kymo_event_ledger){.line = line,
                                     .time_ns = time_ns,
                                     .bytes = bytes,
                                     .low = bytes > 50 ? 1 : 9,
                                     .high = 8,
                                     .name = name});
}

static void each_moment_has_a_ledger(void **state)
{
    (void)state;
    size_t count;
    send_line(200, KYMO_LEDGER_MAPPED, "f", 20);
    send_line(200, KYMO_LEDGER_MAPPED, "", 70);
    send_line(200, 0, "", 7);
    send_line(200, KYMO_LEDGER_LINES, "", 7);
    send_line(150, KYMO_LEDGER_LIVE, NULL, 7); /* it comes late */
    finish();
    const kymo_ledger *l = kymo_profile_ledger(profile, &count);
    assert_int_equal(count, 3);
    assert_int_equal(l[0].bytes, 7);
    assert_int_equal(l[1].bytes, 70);
    assert_int_equal(l[1].high, 8);
    assert_string_equal(text_of(l[2].name), "f");
    assert_int_equal(l[2].high, 0); /* what is no interval is none */
}

static void figures_are_kept(void **state)
{
    (void)state;
    size_t count;
    send(memory_info, (kymo_event_memory_info){.time_ns = 5, .value = 7, .key = "a.limit"});
    finish();
    const kymo_memory_info *infos = kymo_profile_memory_infos(profile, &count);
    assert_int_equal(count, 1);
    assert_string_equal(text_of(infos->key), "a.limit");
    assert_int_equal(infos->value, 7);
}

static void unknown_processes_are_refused(void **state)
{
    (void)state;
    kymo_event_heap heap = {.process = 2};
    kymo_event_ledger line = {.process = 2, .line = 1};
    kymo_event_memory_info info = {.process = 2};
    assert_int_equal(kymo_ingest_handler.heap(ingest, &heap), KYMO_E_INVALID);
    assert_int_equal(kymo_ingest_handler.ledger(ingest, &line), KYMO_E_INVALID);
    assert_int_equal(kymo_ingest_handler.memory_info(ingest, &info), KYMO_E_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_last_heap_counts),
        TEST(a_lost_record_makes_it_partial),
        TEST(overwritten_records_may_be_any),
        TEST(each_moment_has_a_ledger),
        TEST(figures_are_kept),
        TEST(unknown_processes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
