/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_markers.h"

#include <stdlib.h>
#include <string.h>

#include "base/f64.h"
#include "kymo/marker_abi.h"
#include "profile_fixture.h"

static kymo_profile *p;
static uint32_t thread;
static uint32_t net;

static int setup(void **state)
{
    p = new_profile();
    thread = add_thread(p, add_process(p, 7, 1), 7, 1);
    kymo_marker_category c = {
        .size = sizeof c, .name = add_string(p, "Network"), .parent = KYMO_NONE};
    ok(kymo_profile_add_marker_category(p, &c, &net));
    *state = p;
    return 0;
}

static void mark(const char *name, kymo_marker_phase phase, uint64_t ns)
{
    kymo_marker m = {.start_ns = 1,
                     .end_ns = 1 + ns,
                     .thread = thread,
                     .name = add_string(p, name),
                     .category = net,
                     .schema = KYMO_NONE,
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE,
                     .phase = phase};
    ok(kymo_profile_add_marker(p, &m, NULL));
}

static void counter(const char *name, const char *unit, uint32_t flags, int64_t first, int64_t last)
{
    uint32_t id;
    kymo_counter c = {.size = sizeof c,
                      .flags = flags,
                      .category = net,
                      .name = add_string(p, name),
                      .unit = add_string(p, unit)};
    ok(kymo_profile_add_counter(p, &c, &id));
    ok(kymo_profile_add_count(p, id, 1, first, 1));
    ok(kymo_profile_add_count(p, id, 2, last, 3));
}

/* All that is printed of the profile. */
static char *printed(size_t top)
{
    char *text;
    size_t len;
    kymo_marker_report *report;
    FILE *to = open_memstream(&text, &len);
    kymo_terminal t = {.to = to};
    ok(kymo_profile_finish(p));
    ok(kymo_marker_report_create(p, KYMO_MARKERS_BY_NAME, &report));
    kymo_report_print_marker_totals(&t, report);
    kymo_report_print_markers(&t, report, "name", top);
    kymo_report_print_counters(&t, p, report);
    kymo_marker_report_destroy(report);
    fclose(to);
    return text;
}

static void without_markers(void **state)
{
    (void)state;
    char *text = printed(0);
    assert_string_equal(text, "markers: none\n");
    free(text);
}

static void both_tables(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        mark("request", KYMO_MARKER_INTERVAL, 1500);
    mark("request", KYMO_MARKER_INTERVAL, 9000);
    mark("request", KYMO_MARKER_UNFINISHED, 0);
    mark("bell\a", KYMO_MARKER_INSTANT, 0);
    counter("sent", "bytes", 0, 4096, -1536);
    counter("queue", "jobs", 0, 3, 40);
    counter("load", "", KYMO_COUNTER_IS_F64, kymo_f64_bits(0.5), kymo_f64_bits(-1.25));
    counter("rate", "bytes", KYMO_COUNTER_IS_F64, kymo_f64_bits(512.5), kymo_f64_bits(2048));
    kymo_marker_losses l = {.size = sizeof l,
                            .name = add_string(p, "request"),
                            .category = net,
                            .schema = KYMO_NONE,
                            .lost = 5,
                            .capped = 6,
                            .cut = 1};
    ok(kymo_profile_add_marker_losses(p, &l));
    char *text = printed(0);
    assert_string_equal(
        text,
        "markers: 11 recorded, 1 unfinished, 5 lost (buffers full), 6 above their type's limit, 1 "
        "text cut\n"
        "   count      total        p50        p95        max  histogram  name\n"
        "      10      21 us     1.5 us       9 us       9 us  █  ▁       request  Network, 1 "
        "unfinished, 5 lost, 6 above the limit, 1 text cut\n"
        "       1          -          -          -          -             bell?  Network\n"
        "histograms: from 1.02 us up to 16.4 us, each column twice as long as the one before\n"
        "\n       first         last          min          max  operations  counter\n"
        "     4.0 KiB     -1.5 KiB     -1.5 KiB      4.0 KiB           3  sent\n"
        "           3           40            3           40           3  queue  jobs\n"
        "         0.5        -1.25        -1.25          0.5           3  load\n"
        "       512 B      2.0 KiB        512 B      2.0 KiB           3  rate\n");
    free(text);
}

static void the_first_rows(void **state)
{
    (void)state;
    mark("a", KYMO_MARKER_INTERVAL, 20);
    mark("b", KYMO_MARKER_INTERVAL, 10);
    mark("c", KYMO_MARKER_INTERVAL, 5);
    char *text = printed(1);
    assert_non_null(strstr(text, "  a  Network\n... and 2 more (--top 0 shows all)\n"));
    assert_null(strstr(text, "b  Network"));
    free(text);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, destroy_profile)
    const struct CMUnitTest tests[] = {
        T(without_markers),
        T(both_tables),
        T(the_first_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
