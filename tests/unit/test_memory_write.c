/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/write.h"

#include <string.h>

#include "unit.h"

static struct kymo_memory_view view;

static int begin(void **state)
{
    (void)state;
    memset(&view, 0, sizeof view);
    view.realtime_ms = 1700000000123;
    view.pid = 42;
    strcpy(view.name, "a\"b\\c");
    kymo_figures_set(&view.figures, KYMO_FIGURE_RSS, 4096);
    kymo_figures_set(&view.figures, KYMO_FIGURE_CPU, 1500000000);
    kymo_figures_set(&view.figures, KYMO_FIGURE_RSS_FILE, 7);
    kymo_figures_set(&view.figures, KYMO_FIGURE_RSS_SHMEM, 0);
    kymo_figures_set(&view.figures, KYMO_FIGURE_OOM_ADJUST, -5);
    kymo_figures_set(&view.figures, KYMO_FIGURE_PRESSURE_CPU_SOME_TOTAL, 2000001);
    kymo_figures_set(&view.figures, KYMO_FIGURE_PRESSURE_CPU_SOME_10, 1205);
    return 0;
}

static int end(void **state)
{
    (void)state;
    kymo_memory_threads_deinit(&view.threads);
    return 0;
}

static void add_thread(void)
{
    struct kymo_memory_thread t = {.tid = 43, .name = "x\ny", .cpu_ns = 1};
    assert_int_equal(kymo_vec_push(&view.threads.list, t), KYMO_OK);
}

static void json_is_one_object(void **state)
{
    (void)state;
    kymo_str out = {0};
    add_thread();
    view.cgroup.version = 2;
    strcpy(view.cgroup.path, "/a");
    kymo_memory_write_json(&out, &view);
    assert_string_equal(kymo_str_cstr(&out),
                        "{\n"
                        "  \"version\": 1,\n"
                        "  \"time_ms\": 1700000000123,\n"
                        "  \"pid\": 42,\n"
                        "  \"name\": \"a\\\"b\\\\c\",\n"
                        "  \"process\": {\n"
                        "    \"rss_bytes\": 4096,\n"
                        "    \"cpu_ns\": 1500000000,\n"
                        "    \"rss_file_bytes\": 7,\n"
                        "    \"rss_shmem_bytes\": 0,\n"
                        "    \"oom_score_adj\": -5\n"
                        "  },\n"
                        "  \"cgroup\": {\n"
                        "    \"version\": 2,\n"
                        "    \"path\": \"/a\"\n"
                        "  },\n"
                        "  \"pressure\": {\n"
                        "    \"cpu_some_us\": 2000001,\n"
                        "    \"cpu_some_10s_percent\": 12.05\n"
                        "  },\n"
                        "  \"threads\": [\n"
                        "    {\"tid\": 43, \"name\": \"x\\ny\", \"cpu_ns\": 1}\n"
                        "  ]\n"
                        "}\n");
    kymo_str_deinit(&out);
}

static void prometheus_has_seconds_and_shares(void **state)
{
    (void)state;
    kymo_str out = {0};
    add_thread();
    kymo_memory_write_prometheus(&out, &view);
    assert_string_equal(
        kymo_str_cstr(&out),
        "# HELP process_resident_memory_bytes Resident memory size in bytes.\n"
        "# TYPE process_resident_memory_bytes gauge\n"
        "process_resident_memory_bytes 4096\n"
        "# HELP process_cpu_seconds_total User and system CPU time in seconds.\n"
        "# TYPE process_cpu_seconds_total counter\n"
        "process_cpu_seconds_total 1.5\n"
        "# HELP kymo_memory_rss_bytes Resident memory by kind.\n"
        "# TYPE kymo_memory_rss_bytes gauge\n"
        "kymo_memory_rss_bytes{kind=\"file\"} 7\n"
        "kymo_memory_rss_bytes{kind=\"shmem\"} 0\n"
        "# HELP kymo_oom_score_adj What the user adds to that score; -1000 spares the process.\n"
        "# TYPE kymo_oom_score_adj gauge\n"
        "kymo_oom_score_adj -5\n"
        "# HELP kymo_pressure_waiting_seconds_total Time in which at least one thread waited for "
        "the resource.\n"
        "# TYPE kymo_pressure_waiting_seconds_total counter\n"
        "kymo_pressure_waiting_seconds_total{resource=\"cpu\"} 2.000001\n"
        "# HELP kymo_pressure_waiting_ratio Share of the window in which at least one thread "
        "waited.\n"
        "# TYPE kymo_pressure_waiting_ratio gauge\n"
        "kymo_pressure_waiting_ratio{resource=\"cpu\",window=\"10s\"} 0.1205\n"
        "# HELP kymo_thread_cpu_seconds_total CPU time of each thread that lives.\n"
        "# TYPE kymo_thread_cpu_seconds_total counter\n"
        "kymo_thread_cpu_seconds_total{tid=\"43\",name=\"x\\ny\"} 0.000000001\n");
    kymo_str_deinit(&out);
}

static void numbers_have_no_zeros_at_their_end(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        unsigned digits;
        const char *text;
    } rows[] = {
        {0, 9, "0"},          {1, 9, "0.000000001"},
        {1000000000, 9, "1"}, {-1500, 3, "-1.5"},
        {-1, 2, "-0.01"},     {INT64_MIN, 0, "-9223372036854775808"},
        {10, 1, "1"},         {INT64_MAX, 9, "9223372036.854775807"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kymo_str out = {0};
        kymo_memory_put_fixed(&out, rows[i].value, rows[i].digits);
        assert_string_equal(kymo_str_cstr(&out), rows[i].text);
        kymo_str_deinit(&out);
    }
}

static void quoted_text_stays_one_line(void **state)
{
    (void)state;
    kymo_str out = {0};
    kymo_memory_put_quoted(&out, "\"\\\n\t\x7f\xc3\xa4");
    assert_string_equal(kymo_str_cstr(&out), "\"\\\"\\\\\\n\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4\"");
    kymo_str_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(json_is_one_object, begin, end),
        cmocka_unit_test_setup_teardown(prometheus_has_seconds_and_shares, begin, end),
        cmocka_unit_test(numbers_have_no_zeros_at_their_end),
        cmocka_unit_test(quoted_text_stays_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
