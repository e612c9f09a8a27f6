/* SPDX-License-Identifier: Apache-2.0 */
/* A whole of three samples and a part with the first one. */
#include "views/report_selection.h"

#include <stdlib.h>

#include "profile_fixture.h"
#include "views/report_json.h"

static kymo_profile *whole, *part;

/* So many samples, of 1, 2, 3 ms of CPU time. */
static kymo_profile *with_samples(uint32_t samples)
{
    kymo_profile *p = new_profile();
    kymo_meta meta = {.size = sizeof meta, .origin_monotonic_ns = 1000, .end_ns = samples * 1000};
    kymo_quality quality = {.size = sizeof quality, .samples = samples};
    ok(kymo_profile_set_meta(p, &meta));
    ok(kymo_profile_set_quality(p, &quality));
    uint32_t thread = add_thread(p, add_process(p, 1, 0), 1, 0);
    for (uint32_t i = 1; i <= samples; i++)
        ok(kymo_profile_add_sample(p, thread, 1000 * i, KYMO_NONE, i * 1000000ull, KYMO_SAMPLE_CPU,
                                   KYMO_STATE_RUNNING));
    ok(kymo_profile_finish(p));
    return p;
}

static int setup(void **state)
{
    (void)state;
    whole = with_samples(3);
    part = with_samples(1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_profile_destroy(part);
    kymo_profile_destroy(whole);
    return 0;
}

static void assert_line(const kymo_report_selection *selection, const char *wanted)
{
    char *text = NULL;
    size_t len = 0;
    kymo_terminal t = {.to = open_memstream(&text, &len)};
    assert_non_null(t.to);
    kymo_report_print_selection(&t, selection, "selected: ", "; more");
    fclose(t.to);
    assert_string_equal(text, wanted);
    free(text);
}

static void time_and_samples(void **state)
{
    (void)state;
    const kymo_report_selection s = {
        .whole = whole, .part = part, .options = "--to 1us", .to_ns = 1000};
    assert_line(&s, "selected: 1 ms of 6 ms of CPU time, 16.7 %, 1 sample (--to 1us); more\n");
}

static void rows_of_other_kinds(void **state)
{
    (void)state;
    kymo_report_selection s = {
        .whole = whole, .part = part, .options = "--thread x", .counted = KYMO_COUNTED_PROCESSES};
    assert_line(&s, "selected: 1 of 1 processes, 100.0 % (--thread x); more\n");
    /* Nothing is no share of nothing. */
    s.counted = KYMO_COUNTED_MARKERS;
    assert_line(&s, "selected: 0 of 0 markers (--thread x); more\n");
}

/* The recording's duration and quality stay those of the whole. */
static void json_has_the_words_and_the_sums(void **state)
{
    (void)state;
    static const char *const threads[] = {"main", "8"};
    const kymo_report_selection s = {.whole = whole,
                                     .part = part,
                                     .options = "",
                                     .from_ns = 1500000000,
                                     .to_ns = UINT64_MAX,
                                     .threads = threads,
                                     .thread_count = 2,
                                     .focus = "a\xff"};
    kymo_bytes bytes;
    kymo_report *report;
    kymo_bytes_init(&bytes, 1 << 20);
    ok(kymo_report_create(part, NULL, &report));
    ok(kymo_report_write_json(part, &s, report, "function", "cpu", 0, 0, &bytes.sink));
    ok(kymo_bytes_append(&bytes, "", 1));
    const char *json = (const char *)bytes.data;
    assert_non_null(strstr(json, "\"duration_s\":0.000002,"));
    assert_non_null(strstr(json, "\"samples\":3,"));
    assert_non_null(
        strstr(json, "\"selection\":{\"from_s\":1.5,\"to_s\":null,\"threads\":[\"main\",\"8\"],"
                     "\"processes\":[],\"focus\":\"a\xef\xbf\xbd\",\"ignore\":null,"
                     "\"counted\":\"nanoseconds\",\"selected\":1000000,\"of\":6000000},"));
    assert_non_null(strstr(json, "\"total\":1000000}"));
    kymo_report_destroy(report);
    kymo_bytes_deinit(&bytes);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(time_and_samples),
        T(rows_of_other_kinds),
        T(json_has_the_words_and_the_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
