/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_json.h"

#include "heap_fixture.h"
#include "recording/events_heap.h"

static struct heap_profile h;
static kymo_heap_report_options options;

static int setup(void **state)
{
    h = new_heap_profile();
    options = (kymo_heap_report_options){.size = sizeof options,
                                         .view = KYMO_HEAP_LEAKS,
                                         .at_ns = KYMO_HEAP_END,
                                         .min_age_ns = KYMO_HEAP_AUTO};
    kymo_heap heap = {.size = sizeof heap,
                      .process = h.process[0],
                      .rate = 1,
                      .count = 3,
                      .bytes = 130,
                      .lost = 2,
                      .lost_frees = 1,
                      .is_partial = 1,
                      .allocator = add_string(h.p, "glibc"),
                      .not_seen = add_string(h.p, "")};
    ok(kymo_profile_set_heap(h.p, &heap));
    *state = h.p;
    return 0;
}

/* From "mode" on: what is before it is the same for all modes, and tested with the others. */
static void assert_json(const char *mode, const char *expected)
{
    kymo_report *report;
    kymo_bytes bytes;
    ok(kymo_profile_finish(h.p));
    ok(kymo_heap_report_create(h.p, &options, &report));
    kymo_bytes_init(&bytes, 1 << 20);
    if (strcmp(mode, "memory") == 0)
        ok(kymo_report_write_memory_json(h.p, NULL, report, &bytes.sink));
    else
        ok(kymo_report_write_json(h.p, NULL, report, "function", mode, 1, 1, &bytes.sink));
    ok(kymo_bytes_append(&bytes, "", 1));
    assert_memory_equal(bytes.data, "{\"format\":1,", 12);
    assert_string_equal(strstr((char *)bytes.data, "\"mode\""), expected);
    kymo_bytes_deinit(&bytes);
    kymo_report_destroy(report);
}

static void leaks(void **state)
{
    (void)state;
    add_plain(&h, IN_LOAD, 100, 1010, KYMO_LIVES);
    add_plain(&h, IN_LOAD, 30, 1999, KYMO_LIVES);
    assert_json(
        "leaks",
        "\"mode\":\"leaks\",\"by\":\"function\",\"heaps\":[{\"pid\":7,\"rate\":1,\"count\":3,"
        "\"bytes\":130,\"lost\":2,\"lost_frees\":1,\"partial\":true,\"allocator\":\"glibc\",\"not_"
        "seen\":null}],\"functions\":[{\"name\":\"load\",\"file\":null,\"line\":null,\"module\":"
        "\"app\",\"self\":{\"objects\":1,\"objects_low\":1,\"objects_high\":1,\"bytes\":100,"
        "\"bytes_low\":100,\"bytes_high\":100,\"samples\":1},\"total\":{\"objects\":1,\"objects_"
        "low\":1,\"objects_high\":1,\"bytes\":100,\"bytes_low\":100,\"bytes_high\":100,\"samples\":"
        "1}}],\"tree\":[{\"depth\":0,\"name\":\"main\",\"file\":null,\"line\":null,\"module\":"
        "\"app\",\"self\":{\"objects\":0,\"objects_low\":0,\"objects_high\":0,\"bytes\":0,\"bytes_"
        "low\":0,\"bytes_high\":0,\"samples\":0},\"total\":{\"objects\":1,\"objects_low\":1,"
        "\"objects_high\":1,\"bytes\":100,\"bytes_low\":100,\"bytes_high\":100,\"samples\":1}}],"
        "\"at_s\":null,\"min_age_s\":0.0000001,\"young\":{\"objects\":1,\"objects_low\":1,"
        "\"objects_high\":1,\"bytes\":30,\"bytes_low\":30,\"bytes_high\":30,\"samples\":1},"
        "\"partial\":true,\"allocated\":{\"objects\":2,\"objects_low\":2,\"objects_high\":2,"
        "\"bytes\":130,\"bytes_low\":130,\"bytes_high\":130,\"samples\":2},\"total\":{\"objects\":"
        "1,\"objects_low\":1,\"objects_high\":1,\"bytes\":100,\"bytes_low\":100,\"bytes_high\":100,"
        "\"samples\":1},\"unit\":\"bytes\"}\n");
}

static void lives_at_a_weight(void **state)
{
    (void)state;
    kymo_allocation block = block_of(&h, IN_MAIN, 100, 1010, 1014);
    block.weight = 2.5;
    add_block(&h, &block);
    options.view = KYMO_HEAP_LIFETIMES;
    assert_json(
        "lifetimes",
        "\"mode\":\"lifetimes\",\"by\":\"function\",\"heaps\":[{\"pid\":7,\"rate\":1,\"count\":3,"
        "\"bytes\":130,\"lost\":2,\"lost_frees\":1,\"partial\":true,\"allocator\":\"glibc\",\"not_"
        "seen\":null}],\"functions\":[{\"name\":\"main\",\"file\":null,\"line\":null,\"module\":"
        "\"app\",\"self\":{\"objects\":2.5,\"objects_low\":0.418,\"objects_high\":8.777,\"bytes\":"
        "250,\"bytes_low\":42,\"bytes_high\":878,\"samples\":1},\"total\":{\"objects\":2.5,"
        "\"objects_low\":0.418,\"objects_high\":8.777,\"bytes\":250,\"bytes_low\":42,\"bytes_"
        "high\":878,\"samples\":1},\"lifetimes\":[[4,2.5]]}],\"tree\":[{\"depth\":0,\"name\":"
        "\"main\",\"file\":null,\"line\":null,\"module\":\"app\",\"self\":{\"objects\":2.5,"
        "\"objects_low\":0.418,\"objects_high\":8.777,\"bytes\":250,\"bytes_low\":42,\"bytes_"
        "high\":878,\"samples\":1},\"total\":{\"objects\":2.5,\"objects_low\":0.418,\"objects_"
        "high\":8.777,\"bytes\":250,\"bytes_low\":42,\"bytes_high\":878,\"samples\":1}}],\"at_s\":"
        "null,\"elsewhere\":{\"objects\":0,\"objects_low\":0,\"objects_high\":0,\"bytes\":0,"
        "\"bytes_low\":0,\"bytes_high\":0,\"samples\":0},\"lifetimes\":[[4,2.5]],\"partial\":true,"
        "\"allocated\":{\"objects\":2.5,\"objects_low\":0.418,\"objects_high\":8.777,\"bytes\":250,"
        "\"bytes_low\":42,\"bytes_high\":878,\"samples\":1},\"total\":{\"objects\":2.5,\"objects_"
        "low\":0.418,\"objects_high\":8.777,\"bytes\":250,\"bytes_low\":42,\"bytes_high\":878,"
        "\"samples\":1},\"unit\":\"bytes\"}\n");
}

static void the_ledger(void **state)
{
    (void)state;
    kymo_ledger l = {.size = sizeof l,
                     .stack = KYMO_NONE,
                     .process = h.process[0],
                     .line = KYMO_LEDGER_UNEXPLAINED,
                     .bytes = -5,
                     .time_ns = 1500};
    ok(kymo_profile_add_ledger(h.p, &l));
    l.line = KYMO_LEDGER_LIVE;
    l.bytes = 100;
    l.low = 90;
    l.high = 120;
    l.name = add_string(h.p, "x \"y\"");
    ok(kymo_profile_add_ledger(h.p, &l));
    kymo_memory_info info = {.process = h.process[0],
                             .key = add_string(h.p, "cgroup.memory.max"),
                             .time_ns = 1600,
                             .value = UINT64_MAX};
    ok(kymo_profile_add_memory_info(h.p, &info));
    assert_json(
        "memory",
        "\"mode\":\"memory\",\"by\":\"process\",\"heaps\":[{\"pid\":7,\"rate\":1,\"count\":3,"
        "\"bytes\":130,\"lost\":2,\"lost_frees\":1,\"partial\":true,\"allocator\":\"glibc\",\"not_"
        "seen\":null}],\"ledger\":[{\"pid\":7,\"at_s\":0.0000005,\"last\":true,\"line\":\"live\","
        "\"name\":\"x "
        "\\\"y\\\"\",\"bytes\":100,\"bytes_low\":90,\"bytes_high\":120},{\"pid\":7,\"at_s\":0."
        "0000005,\"last\":true,\"line\":\"unexplained\",\"name\":null,\"bytes\":-5,\"bytes_low\":-"
        "5,\"bytes_"
        "high\":-5}],\"figures\":[{\"pid\":7,\"at_s\":0.0000006,\"name\":\"cgroup.memory.max\","
        "\"value\":18446744073709551615}],\"unit\":\"bytes\"}\n");
}

static void growth(void **state)
{
    (void)state;
    kymo_report_diff *diff;
    kymo_bytes bytes;
    kymo_heap_report_options later;
    add_plain(&h, IN_LOAD, 100, 1010, 1500);
    add_plain(&h, IN_PARSE, 30, 1200, KYMO_LIVES);
    options.view = KYMO_HEAP_LIVE;
    options.at_ns = 1100;
    later = options;
    later.at_ns = 1700;
    ok(kymo_profile_finish(h.p));
    ok(kymo_heap_diff_create(h.p, &options, h.p, &later, KYMO_DIFF_AUTO, &diff));
    kymo_bytes_init(&bytes, 1 << 20);
    ok(kymo_report_write_diff_json(diff, NULL, "function", "live", 1, &bytes.sink));
    ok(kymo_bytes_append(&bytes, "", 1));
    assert_string_equal(
        (char *)bytes.data,
        "{\"format\":1,\"mode\":\"live\",\"by\":\"function\","
        "\"normalized\":\"none\",\"changes\":[{\"name\":\"load\","
        "\"file\":null,\"line\":null,\"module\":\"app\",\"before\":100,\"after\":0,\"change\":-100,"
        "\"low\":-100,\"high\":-100,\"objects\":-1,\"significant\":true,\"only\":\"before\"}],"
        "\"total\":{\"name\":null,"
        "\"file\":null,\"line\":null,\"module\":null,\"before\":100,\"after\":30,\"change\":-70,"
        "\"low\":-70,\"high\":-70,\"objects\":0,\"significant\":true},\"unit\":\"bytes\"}\n");
    kymo_bytes_deinit(&bytes);
    kymo_report_diff_destroy(diff);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, destroy_profile)
    const struct CMUnitTest tests[] = {
        T(leaks),
        T(lives_at_a_weight),
        T(the_ledger),
        T(growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
