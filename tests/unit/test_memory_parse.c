/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/parse.h"

#include "memory/process.h"
#include "unit.h"

static struct kymo_figures f;

static int empty(void **state)
{
    (void)state;
    f = (struct kymo_figures){0};
    return 0;
}

static void expect(enum kymo_figure figure, int64_t value)
{
    assert_true(f.is_known[figure]);
    assert_int_equal(f.value[figure], value);
}

static void expect_nothing(void)
{
    for (unsigned i = 0; i < KYMO_FIGURE_COUNT; i++)
        assert_false(f.is_known[i]);
}

static void status_is_in_bytes(void **state)
{
    (void)state;
    kymo_memory_parse_lines(&f, KYMO_GROUP_PROCESS,
                            "Name:\tVmRSS: 7 kB\nState:\tS (sleeping)\n"
                            "VmHWM:\t    1640 kB\nVmRSS:\t    1200 kB\nRssAnon:\t       0 kB\n"
                            "THP_enabled:\t1\nThreads:\t12\n"
                            "voluntary_ctxt_switches:\t34\nnonvoluntary_ctxt_switches:\t56");
    expect(KYMO_FIGURE_RSS, 1200 * 1024);
    expect(KYMO_FIGURE_RSS_PEAK, 1640 * 1024);
    expect(KYMO_FIGURE_RSS_ANON, 0);
    expect(KYMO_FIGURE_THREADS, 12);
    expect(KYMO_FIGURE_SWITCHES, 34);
    expect(KYMO_FIGURE_SWITCHES_FORCED, 56);
    assert_false(f.is_known[KYMO_FIGURE_SWAP]);
}

static void a_rollup_has_what_the_kernel_wrote(void **state)
{
    (void)state;
    kymo_memory_parse_lines(&f, KYMO_GROUP_MAPS,
                            "5562379ca000-7fff10b27000 ---p 00000000 00:00 0     [rollup]\n"
                            "Rss:                1640 kB\nPss:                 203 kB\n"
                            "Pss_Dirty:           112 kB\nShared_Clean:       1488 kB\n"
                            "Locked:                0 kB\n");
    expect(KYMO_FIGURE_MAPS_RSS, 1640 * 1024);
    expect(KYMO_FIGURE_MAPS_PSS, 203 * 1024);
    expect(KYMO_FIGURE_MAPS_PSS_DIRTY, 112 * 1024);
    expect(KYMO_FIGURE_MAPS_LOCKED, 0);
    assert_false(f.is_known[KYMO_FIGURE_MAPS_PSS_ANON]);
}

static void io_is_in_bytes_and_calls(void **state)
{
    (void)state;
    kymo_memory_parse_lines(&f, KYMO_GROUP_IO, "rchar: 9084\nsyscr: 14\nwrite_bytes: 4096\n");
    expect(KYMO_FIGURE_IO_READ_CALLS_BYTES, 9084);
    expect(KYMO_FIGURE_IO_READ_CALLS, 14);
    expect(KYMO_FIGURE_IO_WRITE, 4096);
}

#define STAT " S 1 2 3 0 -1 4194304 111 5 222 6 30 40 7 8 20 0 9 0 5000 123 45 18446744073709551615"

static void a_name_may_look_like_what_is_behind_it(void **state)
{
    (void)state;
    kymo_memory_parse_stat(&f, "77 (a) R 9 ) b)" STAT, 100, 1000000000);
    expect(KYMO_FIGURE_FAULTS_MINOR, 111);
    expect(KYMO_FIGURE_FAULTS_MAJOR, 222);
    expect(KYMO_FIGURE_CPU_USER, 300000000);
    expect(KYMO_FIGURE_CPU_SYSTEM, 400000000);
    expect(KYMO_FIGURE_CPU, 700000000);
    expect(KYMO_FIGURE_START, 51000000000);
}

static void a_cut_stat_is_none(void **state)
{
    (void)state;
    kymo_memory_parse_stat(&f, "77 (a) S 1 2 3", 100, 1);
    kymo_memory_parse_stat(&f, "77 (a)", 100, 1);
    kymo_memory_parse_stat(&f, "", 100, 1);
    kymo_memory_parse_stat(&f, "77 (a)" STAT, 0, 1);
    expect_nothing();
}

static void no_limit_is_not_there(void **state)
{
    (void)state;
    kymo_memory_parse_limits(&f, "Limit                     Soft Limit    Hard Limit   Units\n"
                                 "Max open files            20000         30000        files\n"
                                 "Max address space         unlimited     unlimited    bytes\n");
    expect(KYMO_FIGURE_FDS_LIMIT, 20000);
    assert_false(f.is_known[KYMO_FIGURE_SIZE_LIMIT]);
    kymo_memory_parse_file(&f, KYMO_FIGURE_CGROUP_MAX, "max\n");
    kymo_memory_parse_file(&f, KYMO_FIGURE_CGROUP_MEMSW_MAX, "9223372036854771712\n");
    kymo_memory_parse_file(&f, KYMO_FIGURE_CGROUP_HIGH, "");
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_MAX]);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_MEMSW_MAX]);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_HIGH]);
    kymo_memory_parse_file(&f, KYMO_FIGURE_CGROUP_MAX, "1073741824\n");
    expect(KYMO_FIGURE_CGROUP_MAX, 1 << 30);
    kymo_memory_parse_file(&f, KYMO_FIGURE_OOM_ADJUST, "-1000\n");
    expect(KYMO_FIGURE_OOM_ADJUST, -1000);
}

static void pressure_has_windows_and_totals(void **state)
{
    (void)state;
    kymo_memory_parse_pressure(&f, KYMO_GROUP_PRESSURE, 1,
                               "some avg10=12.34 avg60=0.05 avg300=100.00 total=13358841833\n"
                               "full avg10=1 avg60=2.5 avg300=0.00 total=7\n");
    expect(KYMO_FIGURE_PRESSURE_CPU_SOME_TOTAL, 13358841833);
    expect(KYMO_FIGURE_PRESSURE_CPU_SOME_10, 1234);
    expect(KYMO_FIGURE_PRESSURE_CPU_SOME_60, 5);
    expect(KYMO_FIGURE_PRESSURE_CPU_SOME_300, 10000);
    expect(KYMO_FIGURE_PRESSURE_CPU_FULL_TOTAL, 7);
    expect(KYMO_FIGURE_PRESSURE_CPU_FULL_10, 100);
    expect(KYMO_FIGURE_PRESSURE_CPU_FULL_60, 250);
    assert_false(f.is_known[KYMO_FIGURE_PRESSURE_MEMORY_SOME_TOTAL]);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_PRESSURE_CPU_SOME_TOTAL]);
    kymo_memory_parse_pressure(&f, KYMO_GROUP_CGROUP_PRESSURE, 2,
                               "full avg10=0.50 avg60=0.00 avg300=0.01 total=9\n");
    expect(KYMO_FIGURE_CGROUP_PRESSURE_IO_FULL_TOTAL, 9);
    expect(KYMO_FIGURE_CGROUP_PRESSURE_IO_FULL_300, 1);
}

static void broken_pressure_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "some", "some ", "some avg10=", "some avg10=101.00", "some avg10=-1.00", "some total=1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        kymo_memory_parse_pressure(&f, KYMO_GROUP_PRESSURE, 0, texts[i]);
    expect_nothing();
}

static void too_large_a_number_is_the_largest(void **state)
{
    (void)state;
    kymo_memory_parse_lines(&f, KYMO_GROUP_PROCESS,
                            "VmSize: 99999999999999999999999 kB\nVmRSS: 9223372036854775807 kB\n"
                            "Threads: 9223372036854775808\nVmSwap: x kB\nVmPTE:\n");
    expect(KYMO_FIGURE_SIZE, INT64_MAX);
    expect(KYMO_FIGURE_RSS, INT64_MAX);
    expect(KYMO_FIGURE_THREADS, INT64_MAX);
    assert_false(f.is_known[KYMO_FIGURE_SWAP]);
    assert_false(f.is_known[KYMO_FIGURE_PAGE_TABLES]);
}

/* The kernel writes none of these; whatever a file says is no undefined behaviour. */
static void numbers_below_all_are_bounded(void **state)
{
    (void)state;
    kymo_memory_parse_lines(&f, KYMO_GROUP_PROCESS, "VmRSS:\t-9223372036854775807 kB\n");
    expect(KYMO_FIGURE_RSS, -INT64_MAX);
    kymo_memory_parse_stat(&f,
                           "77 (a) S 1 1 1 1 1 1 1 1 1 1 -9223372036854775807 "
                           "-9223372036854775807 1 1 1 1 1 1 -9223372036854775807 1",
                           100, 1);
    expect(KYMO_FIGURE_CPU, 0);
}

static void arenas_are_counted_and_their_sum_is_taken(void **state)
{
    (void)state;
    kymo_memory_parse_malloc_info(
        &f, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n"
            "<system type=\"current\" size=\"135168\"/>\n<system type=\"max\" size=\"135168\"/>\n"
            "</heap>\n<heap nr=\"1\">\n<system type=\"max\" size=\"1000\"/>\n</heap>\n"
            "<total type=\"fast\" count=\"0\" size=\"0\"/>\n"
            "<system type=\"current\" size=\"1\"/>\n<system type=\"max\" size=\"136168\"/>\n"
            "</malloc>\n");
    expect(KYMO_FIGURE_GLIBC_ARENAS, 2);
    expect(KYMO_FIGURE_GLIBC_PEAK, 136168);
    f = (struct kymo_figures){0};
    kymo_memory_parse_malloc_info(&f, "");
    kymo_memory_parse_malloc_info(&f, "</heap><system type=\"max\"");
    expect_nothing();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(status_is_in_bytes, empty),
        cmocka_unit_test_setup(a_rollup_has_what_the_kernel_wrote, empty),
        cmocka_unit_test_setup(io_is_in_bytes_and_calls, empty),
        cmocka_unit_test_setup(a_name_may_look_like_what_is_behind_it, empty),
        cmocka_unit_test_setup(a_cut_stat_is_none, empty),
        cmocka_unit_test_setup(no_limit_is_not_there, empty),
        cmocka_unit_test_setup(pressure_has_windows_and_totals, empty),
        cmocka_unit_test_setup(broken_pressure_is_none, empty),
        cmocka_unit_test_setup(too_large_a_number_is_the_largest, empty),
        cmocka_unit_test_setup(numbers_below_all_are_bounded, empty),
        cmocka_unit_test_setup(arenas_are_counted_and_their_sum_is_taken, empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
