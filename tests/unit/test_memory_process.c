/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/process.h"

#include <sys/mman.h>
#include <unistd.h>

#include "memory_tree.h"

static struct kymo_figures f;

static void expect(enum kymo_figure figure, int64_t value)
{
    assert_true(f.is_known[figure]);
    assert_int_equal(f.value[figure], value);
}

static void look(const char *root, const char *process)
{
    memset(&f, 0, sizeof f);
    kymo_memory_read_use(&f, root, process);
    kymo_memory_read_limits(&f, root, process);
    kymo_memory_read_maps(&f, root, process);
    kymo_memory_read_pressure(&f, root);
}

static void each_file_is_read(void **state)
{
    (void)state;
    tree_put("/proc/7/status", "VmRSS:\t 10 kB\n");
    tree_put("/proc/7/io", "rchar: 11\n");
    tree_put("/proc/7/oom_score", "12\n");
    tree_put("/proc/7/oom_score_adj", "-13\n");
    tree_put("/proc/7/limits", "Max open files            14     15    files\n");
    tree_put("/proc/7/smaps_rollup", "Rss: 16 kB\n");
    tree_put("/proc/7/fd/0", "");
    tree_put("/proc/7/fd/1", "");
    tree_put("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=17\n");
    look(tree, "7");
    expect(KYMO_FIGURE_RSS, 10240);
    expect(KYMO_FIGURE_IO_READ_CALLS_BYTES, 11);
    expect(KYMO_FIGURE_OOM_SCORE, 12);
    expect(KYMO_FIGURE_OOM_ADJUST, -13);
    expect(KYMO_FIGURE_FDS_LIMIT, 14);
    expect(KYMO_FIGURE_MAPS_RSS, 16384);
    expect(KYMO_FIGURE_FDS, 2);
    expect(KYMO_FIGURE_PRESSURE_MEMORY_SOME_TOTAL, 17);
}

static void what_is_not_there_is_not_known(void **state)
{
    (void)state;
    look(tree, "7");
    for (unsigned i = 0; i < KYMO_FIGURE_COUNT; i++)
        assert_false(f.is_known[i]);
}

static void threads_are_listed(void **state)
{
    (void)state;
    struct kymo_memory_threads threads = {0};
    tree_put("/proc/7/task/7/schedstat", "1000 2 3\n");
    tree_put("/proc/7/task/7/comm", "a \xff\n");
    tree_put("/proc/7/task/8/comm", "gone\n");
    assert_int_equal(kymo_memory_read_threads(&threads, tree, "7"), KYMO_OK);
    assert_int_equal(threads.list.len, 1);
    assert_int_equal(threads.list.data[0].tid, 7);
    assert_int_equal(threads.list.data[0].cpu_ns, 1000);
    assert_string_equal(threads.list.data[0].name, "a \xef\xbf\xbd");
    kymo_memory_threads_deinit(&threads);
}

/* The live one: what this process does itself is seen. */
static void faults_and_descriptors_of_our_own_are_seen(void **state)
{
    (void)state;
    enum { PAGES = 256 };
    struct kymo_figures before;
    look("", "self");
    before = f;
    char *map =
        mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    (void)madvise(map, PAGES * 4096, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        map[i * 4096] = 1;
    int fd = dup(0);
    assert_true(fd >= 0);
    look("", "self");
    assert_true(f.value[KYMO_FIGURE_FAULTS_MINOR] - before.value[KYMO_FIGURE_FAULTS_MINOR] >=
                PAGES);
    expect(KYMO_FIGURE_FDS, before.value[KYMO_FIGURE_FDS] + 1);
    expect(KYMO_FIGURE_THREADS, before.value[KYMO_FIGURE_THREADS]);
    close(fd);
    munmap(map, PAGES * 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_file_is_read, tree_begin, tree_end),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_not_known, tree_begin, tree_end),
        cmocka_unit_test_setup_teardown(threads_are_listed, tree_begin, tree_end),
        cmocka_unit_test(faults_and_descriptors_of_our_own_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
