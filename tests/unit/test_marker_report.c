/* SPDX-License-Identifier: Apache-2.0 */
#include "kymo/report.h"

#include "kymo/marker_abi.h"
#include "profile_fixture.h"

static kymo_profile *p;
static uint32_t thread[2];
static uint32_t net;
static uint32_t dns;
static uint32_t type;
static kymo_marker_report *report;

static uint32_t category(const char *name, uint32_t parent)
{
    uint32_t id;
    kymo_marker_category c = {.size = sizeof c, .name = add_string(p, name), .parent = parent};
    ok(kymo_profile_add_marker_category(p, &c, &id));
    return id;
}

static void mark(uint32_t t, const char *name, uint32_t in, uint32_t schema,
                 kymo_marker_phase phase, uint64_t ns)
{
    kymo_marker m = {.start_ns = 1000,
                     .end_ns = 1000 + ns,
                     .thread = thread[t],
                     .name = add_string(p, name),
                     .category = in,
                     .schema = schema,
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE,
                     .phase = phase};
    ok(kymo_profile_add_marker(p, &m, NULL));
}

static int setup(void **state)
{
    (void)state;
    p = new_profile();
    report = NULL;
    uint32_t process = add_process(p, 7, 1);
    thread[0] = add_thread(p, process, 7, 1);
    thread[1] = add_thread(p, process, 8, 2);
    net = category("Network", KYMO_NONE);
    dns = category("DNS", net);
    kymo_schema s = {.size = sizeof s, .name = add_string(p, "Request")};
    ok(kymo_profile_add_schema(p, &s, &type));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_marker_report_destroy(report);
    kymo_profile_destroy(p);
    return 0;
}

static const kymo_marker_row *rows(kymo_marker_report_by by, size_t expected)
{
    size_t count;
    ok(kymo_profile_finish(p));
    kymo_marker_report_destroy(report);
    report = NULL;
    ok(kymo_marker_report_create(p, by, &report));
    const kymo_marker_row *all = kymo_marker_report_rows(report, &count);
    assert_int_equal(count, expected);
    return all;
}

static void durations_of_a_name(void **state)
{
    (void)state;
    /* 1 to 100 us, backwards and in two threads: percentiles are values that there are. */
    for (uint64_t i = 100; i > 0; i--)
        mark(i % 2, "work", net, KYMO_NONE, KYMO_MARKER_INTERVAL, i * 1000);
    const kymo_marker_row *row = rows(KYMO_MARKERS_BY_NAME, 1);
    assert_string_equal(row->name, "work");
    assert_string_equal(row->category, "Network");
    assert_int_equal(row->count, 100);
    assert_int_equal(row->intervals, 100);
    assert_int_equal(row->total_ns, 5050000);
    assert_int_equal(row->min_ns, 1000);
    assert_int_equal(row->p50_ns, 50000);
    assert_int_equal(row->p95_ns, 95000);
    assert_int_equal(row->max_ns, 100000);
    assert_int_equal(row->histogram[4], 1);   /* 512 ns up to 1024 ns */
    assert_int_equal(row->histogram[5], 1);   /* 2 us */
    assert_int_equal(row->histogram[11], 35); /* 65.536 us up to 131 us */
}

static void one_interval_is_each_percentile(void **state)
{
    (void)state;
    mark(0, "work", KYMO_NONE, KYMO_NONE, KYMO_MARKER_INTERVAL, 70);
    const kymo_marker_row *row = rows(KYMO_MARKERS_BY_NAME, 1);
    assert_null(row->category);
    assert_int_equal(row->p50_ns, 70);
    assert_int_equal(row->p95_ns, 70);
    assert_int_equal(row->histogram[1], 1);
}

static void buckets_have_ends(void **state)
{
    (void)state;
    const uint64_t ns[] = {0, 63, 64, 127, 128, (1ull << 36) - 1, 1ull << 36, UINT64_MAX / 2};
    const uint32_t bucket[] = {0, 0, 1, 1, 2, 30, 31, 31};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(ns); i++)
        mark(0, "work", net, KYMO_NONE, KYMO_MARKER_INTERVAL, ns[i]);
    const kymo_marker_row *row = rows(KYMO_MARKERS_BY_NAME, 1);
    uint64_t expected[KYMO_HISTOGRAM_BUCKETS] = {0};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bucket); i++)
        expected[bucket[i]]++;
    assert_memory_equal(row->histogram, expected, sizeof expected);
}

static void what_is_no_interval_has_no_duration(void **state)
{
    (void)state;
    mark(0, "a", net, KYMO_NONE, KYMO_MARKER_INSTANT, 0);
    mark(0, "a", net, KYMO_NONE, KYMO_MARKER_UNFINISHED, 0);
    mark(0, "a", net, KYMO_NONE, KYMO_MARKER_UNBEGUN, 0);
    const kymo_marker_row *row = rows(KYMO_MARKERS_BY_NAME, 1);
    assert_int_equal(row->count, 3);
    assert_int_equal(row->unfinished, 2);
    assert_int_equal(row->intervals, 0);
    assert_int_equal(row->max_ns, 0);
    assert_int_equal(kymo_marker_report_all(report)->count, 3);
    assert_int_equal(kymo_marker_report_all(report)->unfinished, 2);
}

static void rows_by_each_key(void **state)
{
    (void)state;
    mark(0, "a", net, type, KYMO_MARKER_INTERVAL, 10);
    mark(1, "a", dns, type, KYMO_MARKER_INTERVAL, 30);
    mark(1, "b", dns, KYMO_NONE, KYMO_MARKER_INTERVAL, 15);
    mark(0, "b", dns, KYMO_NONE, KYMO_MARKER_INTERVAL, 1);
    const kymo_marker_row *row = rows(KYMO_MARKERS_BY_NAME, 3);
    assert_string_equal(row[0].name, "a");
    assert_string_equal(row[0].category, "Network / DNS");
    assert_string_equal(row[1].name, "b");
    assert_int_equal(row[1].total_ns, 16);
    assert_string_equal(row[2].name, "a");
    assert_string_equal(row[2].category, "Network");
    row = rows(KYMO_MARKERS_BY_CATEGORY, 2);
    assert_string_equal(row[0].name, "Network / DNS");
    assert_int_equal(row[0].total_ns, 46);
    assert_null(row[0].category);
    row = rows(KYMO_MARKERS_BY_TYPE, 2);
    assert_string_equal(row[0].name, "Request");
    assert_int_equal(row[0].total_ns, 40);
    assert_string_equal(row[1].name, "[no type]");
    row = rows(KYMO_MARKERS_BY_THREAD, 2);
    assert_string_equal(row[0].name, "thread 8 (8)");
    assert_int_equal(row[0].total_ns, 45);
    assert_int_equal(row[1].total_ns, 11);
    assert_int_equal(kymo_marker_report_all(report)->total_ns, 56);
}

static void what_was_lost_has_its_row(void **state)
{
    (void)state;
    kymo_marker_losses l = {.size = sizeof l,
                            .name = add_string(p, "gone"),
                            .category = net,
                            .schema = type,
                            .lost = 5,
                            .capped = 6,
                            .cut = 7};
    ok(kymo_profile_add_marker_losses(p, &l));
    mark(0, "here", net, type, KYMO_MARKER_INSTANT, 0);
    const kymo_marker_row *row = rows(KYMO_MARKERS_BY_NAME, 2);
    assert_string_equal(row[1].name, "gone");
    assert_int_equal(row[1].count, 0);
    assert_int_equal(row[1].lost, 5);
    assert_int_equal(row[1].capped, 6);
    assert_int_equal(row[1].cut, 7);
    row = rows(KYMO_MARKERS_BY_CATEGORY, 1);
    assert_int_equal(row->count, 1);
    assert_int_equal(row->lost, 5);
    row = rows(KYMO_MARKERS_BY_THREAD, 1);
    assert_int_equal(row->lost, 0);
    assert_int_equal(kymo_marker_report_all(report)->lost, 5);
    assert_int_equal(kymo_marker_report_all(report)->cut, 7);
}

static void counters_by_value(void **state)
{
    (void)state;
    uint32_t id;
    size_t count;
    kymo_counter c = {.size = sizeof c, .category = KYMO_NONE, .name = add_string(p, "queue")};
    ok(kymo_profile_add_counter(p, &c, &id)); /* without a value */
    ok(kymo_profile_add_counter(p, &c, &id));
    ok(kymo_profile_add_count(p, id, 30, 4, 9));
    ok(kymo_profile_add_count(p, id, 10, 3, 1));
    ok(kymo_profile_add_count(p, id, 20, -8, 5));
    rows(KYMO_MARKERS_BY_NAME, 0);
    const kymo_counter_row *row = kymo_marker_report_counters(report, &count);
    assert_int_equal(count, 1);
    assert_int_equal(row->counter, id);
    assert_int_equal(row->count, 3);
    assert_int_equal(row->first, 3);
    assert_int_equal(row->last, 4);
    assert_int_equal(row->min, -8);
    assert_int_equal(row->max, 4);
    assert_int_equal(row->operations, 9);
}

static void bad_arguments(void **state)
{
    (void)state;
    assert_int_equal(kymo_marker_report_create(p, KYMO_MARKERS_BY_NAME, &report), KYMO_E_INVALID);
    ok(kymo_profile_finish(p));
    assert_int_equal(kymo_marker_report_create(p, KYMO_MARKERS_BY_COUNT, &report), KYMO_E_INVALID);
    assert_null(report);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(durations_of_a_name), T(one_interval_is_each_percentile),
        T(buckets_have_ends),   T(what_is_no_interval_has_no_duration),
        T(rows_by_each_key),    T(what_was_lost_has_its_row),
        T(counters_by_value),   T(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
