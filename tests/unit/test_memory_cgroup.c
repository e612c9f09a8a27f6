/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/cgroup.h"

#include "memory_tree.h"

static struct kymo_cgroup_mounts mounts;
static struct kymo_cgroup_place place;
static struct kymo_figures f;

static void look(void)
{
    memset(&f, 0, sizeof f);
    kymo_cgroup_read_mounts(&mounts, tree);
    kymo_cgroup_look(&place, &mounts, tree, "7");
    kymo_cgroup_read_use(&f, &place, tree);
    kymo_cgroup_read_limits(&f, &place, tree);
    kymo_cgroup_read_pressure(&f, &place, tree);
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

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

static void the_second_version_is_read_up_to_its_root(void **state)
{
    (void)state;
    tree_put("/proc/self/mountinfo", "23 28 0:21 / /proc rw - proc proc rw\n" V2_MOUNT);
    tree_put("/proc/7/cgroup", "0::/app.slice/job\n");
    tree_put("/sys/fs/cgroup/app.slice/memory.max", "1000000\n");
    tree_put("/sys/fs/cgroup/app.slice/memory.current", "900000\n");
    tree_put("/sys/fs/cgroup/app.slice/job/memory.max", "2000000\n");
    tree_put("/sys/fs/cgroup/app.slice/job/memory.current", "500000\n");
    tree_put("/sys/fs/cgroup/app.slice/job/memory.high", "max\n");
    tree_put("/sys/fs/cgroup/app.slice/job/memory.peak", "600000\n");
    tree_put("/sys/fs/cgroup/app.slice/job/memory.swap.current", "0\n");
    tree_put("/sys/fs/cgroup/app.slice/job/memory.stat",
             "anon 300000\nfile 150000\nkernel 40000\ninactive_file 120000\npgfault 77\n"
             "workingset_refault_file 3\nnever_heard_of 5\n");
    tree_put("/sys/fs/cgroup/app.slice/job/memory.events",
             "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n");
    tree_put("/sys/fs/cgroup/app.slice/job/memory.pressure",
             "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n");
    look();
    assert_true(kymo_cgroup_limit(tree, "7") == 1000000);
    assert_int_equal(place.version, 2);
    assert_string_equal(place.path, "/app.slice/job");
    expect(KYMO_FIGURE_CGROUP_CURRENT, 500000);
    expect(KYMO_FIGURE_CGROUP_MAX, 2000000);
    expect(KYMO_FIGURE_CGROUP_PEAK, 600000);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_HIGH]);
    expect(KYMO_FIGURE_CGROUP_LIMIT, 1000000);
    expect(KYMO_FIGURE_CGROUP_HEADROOM, 100000);
    expect(KYMO_FIGURE_CGROUP_ANON, 300000);
    expect(KYMO_FIGURE_CGROUP_PGFAULT, 77);
    expect(KYMO_FIGURE_CGROUP_REFAULT_FILE, 3);
    expect(KYMO_FIGURE_CGROUP_WORKING_SET, 380000);
    expect(KYMO_FIGURE_CGROUP_EVENT_OOM_KILL, 4);
    expect(KYMO_FIGURE_CGROUP_EVENT_OOM_GROUP_KILL, 5);
    expect(KYMO_FIGURE_CGROUP_PRESSURE_MEMORY_SOME_TOTAL, 11);
}

static void a_process_that_moves_is_followed(void **state)
{
    (void)state;
    tree_put("/proc/self/mountinfo", V2_MOUNT);
    tree_put("/sys/fs/cgroup/a/memory.current", "1\n");
    tree_put("/sys/fs/cgroup/b/memory.current", "2\n");
    tree_put("/proc/7/cgroup", "0::/a\n");
    look();
    expect(KYMO_FIGURE_CGROUP_CURRENT, 1);
    tree_put("/proc/7/cgroup", "0::/b\n");
    look();
    expect(KYMO_FIGURE_CGROUP_CURRENT, 2);
    tree_put("/proc/7/cgroup", "0::/b/gone (deleted)\n");
    look();
    expect_nothing();
}

static void the_root_has_no_usage(void **state)
{
    (void)state;
    tree_put("/proc/self/mountinfo", V2_MOUNT);
    tree_put("/proc/7/cgroup", "0::/\n");
    tree_put("/sys/fs/cgroup/memory.stat", "anon 5\n");
    look();
    assert_int_equal(place.version, 2);
    assert_string_equal(place.memory, "/sys/fs/cgroup");
    expect(KYMO_FIGURE_CGROUP_ANON, 5);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_CURRENT]);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_LIMIT]);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_HEADROOM]);
}

#define V1_MOUNTS                                                              \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"              \
    "35 31 0:32 / /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n" \
    "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"

static void put_v1(void)
{
    tree_put("/sys/fs/cgroup/my memory/job/memory.usage_in_bytes", "500000\n");
    tree_put("/sys/fs/cgroup/my memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    tree_put("/sys/fs/cgroup/my memory/job/memory.max_usage_in_bytes", "600000\n");
    tree_put("/sys/fs/cgroup/my memory/job/memory.failcnt", "8\n");
    tree_put("/sys/fs/cgroup/my memory/job/memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 9\n");
    tree_put("/sys/fs/cgroup/my memory/job/memory.stat",
             "cache 1\nrss 2\ntotal_cache 30\ntotal_rss 40\ntotal_inactive_file 20\n"
             "total_pgmajfault 5\n");
}

static void expect_v1(void)
{
    assert_int_equal(place.version, 1);
    assert_string_equal(place.path, "/job");
    expect(KYMO_FIGURE_CGROUP_CURRENT, 500000);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_MAX]);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_LIMIT]);
    expect(KYMO_FIGURE_CGROUP_PEAK, 600000);
    expect(KYMO_FIGURE_CGROUP_FAILURES, 8);
    expect(KYMO_FIGURE_CGROUP_EVENT_OOM_KILL, 9);
    expect(KYMO_FIGURE_CGROUP_ANON, 40);
    expect(KYMO_FIGURE_CGROUP_FILE, 30);
    expect(KYMO_FIGURE_CGROUP_PGMAJFAULT, 5);
    expect(KYMO_FIGURE_CGROUP_WORKING_SET, 499980);
}

static void the_first_version_has_files_of_its_own(void **state)
{
    (void)state;
    tree_put("/proc/self/mountinfo", V1_MOUNTS);
    tree_put("/proc/7/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n1:name=systemd:/y\n");
    put_v1();
    look();
    expect_v1();
    tree_put("/sys/fs/cgroup/my memory/memory.limit_in_bytes", "700000\n");
    tree_put("/sys/fs/cgroup/my memory/memory.usage_in_bytes", "800000\n");
    look();
    expect(KYMO_FIGURE_CGROUP_LIMIT, 700000);
    expect(KYMO_FIGURE_CGROUP_HEADROOM, 0);
}

/* Both are there: the memory controller is in the first, pressure in the second. */
static void hybrids_are_read_where_each_has_something(void **state)
{
    (void)state;
    tree_put("/proc/self/mountinfo",
             V1_MOUNTS "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    tree_put("/proc/7/cgroup", "4:memory:/job\n1:name=systemd:/y\n0::/session\n");
    put_v1();
    tree_put("/sys/fs/cgroup/unified/session/io.pressure",
             "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n");
    look();
    expect_v1();
    expect(KYMO_FIGURE_CGROUP_PRESSURE_IO_SOME_TOTAL, 5);
    assert_false(f.is_known[KYMO_FIGURE_CGROUP_PRESSURE_MEMORY_SOME_TOTAL]);
}

/* In a container without a namespace of cgroups: only a part of the hierarchy is mounted. */
static void a_mounted_part_is_taken_off_the_path(void **state)
{
    (void)state;
    tree_put("/proc/self/mountinfo",
             "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    tree_put("/proc/7/cgroup", "4:memory:/docker/abc\n");
    tree_put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "3\n");
    look();
    assert_string_equal(place.memory, "/sys/fs/cgroup/memory");
    expect(KYMO_FIGURE_CGROUP_CURRENT, 3);
    tree_put("/proc/7/cgroup", "4:memory:/docker/abcdef\n");
    look();
    expect_nothing();
}

static void what_is_not_to_be_seen_is_none(void **state)
{
    (void)state;
    static const char *const paths[] = {"0::/../other\n", "0::\n", "0::x\n", "", "0:memory\n"};
    tree_put("/proc/self/mountinfo", V2_MOUNT);
    tree_put("/sys/fs/cgroup/memory.current", "1\n");
    tree_put("/sys/fs/cgroup/../other/memory.current", "1\n");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        tree_put("/proc/7/cgroup", paths[i]);
        look();
        assert_string_equal(place.memory, "");
        expect_nothing();
    }
    tree_put("/proc/7/cgroup", "0::/\n");
    tree_put("/proc/self/mountinfo", "1 2 0:1 / / rw - ext4 /dev/vda rw\n");
    look();
    expect_nothing();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, tree_begin, tree_end)
        CASE(the_second_version_is_read_up_to_its_root),
        CASE(a_process_that_moves_is_followed),
        CASE(the_root_has_no_usage),
        CASE(the_first_version_has_files_of_its_own),
        CASE(hybrids_are_read_where_each_has_something),
        CASE(a_mounted_part_is_taken_off_the_path),
        CASE(what_is_not_to_be_seen_is_none),
#undef CASE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
