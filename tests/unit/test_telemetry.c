/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/telemetry.h"

#include "kymo/marker_abi.h"
#include "memory_tree.h"

#define SECOND 1000000000ull
/* When others than the program are looked at first. */
#define YOUNG 100000000ull
#define BEGIN (SECOND - YOUNG)

/* What was told: the counters by name, and the counts of each. */
#define COUNTS_MAX 16

static struct told {
    char name[32];
    uint32_t counter, kind, flags;
    int counts;
    uint64_t time_ns[COUNTS_MAX];
    int64_t value[COUNTS_MAX];
} told[32];
static int told_count, categories;

static kymo_err on_category(void *context, const kymo_event_marker_category *e)
{
    (void)context;
    categories++;
    assert_int_equal(e->category, KYMO_TELEMETRY_FIRST);
    assert_string_equal(e->name, "System");
    return KYMO_OK;
}

static kymo_err on_counter(void *context, const kymo_event_counter *e)
{
    (void)context;
    assert_int_equal(categories, 1);
    assert_int_equal(e->category, KYMO_TELEMETRY_FIRST);
    assert_true(e->counter > KYMO_TELEMETRY_FIRST && told_count < 32);
    struct told *t = &told[told_count++];
    snprintf(t->name, sizeof t->name, "%s", e->name);
    t->counter = e->counter;
    t->kind = e->kind;
    t->flags = e->flags;
    t->counts = 0;
    return KYMO_OK;
}

static kymo_err on_count(void *context, const kymo_event_count *e)
{
    (void)context;
    for (int i = 0; i < told_count; i++) {
        struct told *t = &told[i];
        if (t->counter != e->counter)
            continue;
        assert_true(t->counts < COUNTS_MAX);
        t->time_ns[t->counts] = e->time_ns;
        t->value[t->counts++] = e->value;
        return KYMO_OK;
    }
    fail_msg("a count of no counter");
    return KYMO_E_INVALID;
}

static struct {
    char key[40];
    uint64_t value, time_ns;
} infos[16];
static int info_count;

static kymo_err on_info(void *context, const kymo_event_memory_info *e)
{
    (void)context;
    assert_int_equal(e->process, 3);
    assert_true(info_count < 16);
    snprintf(infos[info_count].key, sizeof infos[0].key, "%s", e->key);
    infos[info_count].value = e->value;
    infos[info_count++].time_ns = e->time_ns;
    return KYMO_OK;
}

static const kymo_event_handler events = {.marker_category = on_category,
                                          .counter = on_counter,
                                          .count = on_count,
                                          .memory_info = on_info};

static kymo_telemetry *create(int is_program, uint64_t period_ns)
{
    const struct kymo_telemetry_config config = {&events, NULL, period_ns, tree};
    kymo_telemetry *t = NULL;
    told_count = categories = info_count = 0;
    assert_int_equal(kymo_telemetry_create(&config, 7, 3, is_program, BEGIN, &t), KYMO_OK);
    return t;
}

static void look(kymo_telemetry *t, uint64_t now_ns)
{
    assert_int_equal(kymo_telemetry_round(t, now_ns), KYMO_OK);
}

static const struct told *find(const char *name)
{
    for (int i = 0; i < told_count; i++)
        if (strcmp(told[i].name, name) == 0)
            return &told[i];
    return NULL;
}

static void put_stat(int major_faults)
{
    char text[256];
    snprintf(text, sizeof text,
             "7 (x) S 1 2 3 0 -1 4194304 50 5 %d 6 30 40 7 8 20 0 9 0 5000 1 2\n", major_faults);
    tree_put("/proc/7/stat", text);
}

static void what_changes_has_its_track(void **state)
{
    (void)state;
    kymo_telemetry *t = create(0, SECOND);
    tree_put("/proc/7/status", "VmRSS: 10 kB\nVmSwap: 0 kB\nThreads: 2\n");
    put_stat(3);
    look(t, SECOND);
    assert_null(find("Swapped"));
    assert_null(find("Page faults from storage"));
    tree_put("/proc/7/status", "VmRSS: 12 kB\nVmSwap: 4 kB\nThreads: 2\n");
    put_stat(8);
    look(t, 2 * SECOND);
    const struct told *rss = find("Resident"), *swap = find("Swapped");
    assert_non_null(rss);
    assert_int_equal(rss->kind, KYMO_COUNTER_GAUGE);
    assert_int_equal(rss->counts, 2);
    assert_int_equal(rss->value[0], 10240);
    assert_int_equal(rss->value[1], 12288);
    assert_int_equal(rss->time_ns[1], 2 * SECOND);
    /* It begins with what it was while it had no track. */
    assert_non_null(swap);
    assert_int_equal(swap->counts, 2);
    assert_int_equal(swap->time_ns[0], SECOND);
    assert_int_equal(swap->value[0], 0);
    assert_int_equal(swap->value[1], 4096);
    /* And what grows with what is of this recording. */
    const struct told *faults = find("Page faults from storage");
    assert_non_null(faults);
    assert_int_equal(faults->kind, KYMO_COUNTER_TOTAL);
    assert_int_equal(faults->flags, KYMO_COUNTER_SYSTEM | KYMO_COUNTER_RATE);
    assert_int_equal(faults->value[0], 0);
    assert_int_equal(faults->value[1], 5);
    assert_null(find("Page faults"));
    kymo_telemetry_destroy(t);
}

static void look_each_ms(kymo_telemetry *t, uint64_t begin_ns, uint64_t last_ms)
{
    for (uint64_t ms = 0; ms <= last_ms; ms++)
        look(t, begin_ns + ms * 1000000);
}

static void assert_looked(uint64_t begin_ns, const uint64_t *due_ms, size_t n)
{
    const struct told *rss = find("Resident");
    assert_int_equal(rss->counts, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rss->time_ns[i], begin_ns + due_ms[i] * 1000000);
}

static void looks_come_quickly_at_first(void **state)
{
    (void)state;
    static const uint64_t due_ms[] = {0, 10, 30, 70, 110, 150};
    kymo_telemetry *t = create(1, 40000000);
    tree_put("/proc/7/status", "VmRSS: 10 kB\n");
    look_each_ms(t, BEGIN, 150);
    assert_looked(BEGIN, due_ms, KYMO_ARRAY_LEN(due_ms));
    kymo_telemetry_destroy(t);
}

static void children_are_looked_at_less(void **state)
{
    (void)state;
    static const uint64_t due_ms[] = {100, 200, 400, 800, 1300, 1800};
    kymo_telemetry *t = create(0, SECOND / 2);
    tree_put("/proc/7/status", "VmRSS: 10 kB\n");
    look_each_ms(t, BEGIN, 1800);
    assert_looked(BEGIN, due_ms, KYMO_ARRAY_LEN(due_ms));
    kymo_telemetry_destroy(t);
}

static void put_machine(void)
{
    tree_put("/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
    tree_put("/proc/7/cgroup", "0::/a\n");
    tree_put("/cg/a/memory.current", "500\n");
    tree_put("/cg/a/memory.max", "900\n");
    tree_put("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\n");
}

static void what_is_shared_is_the_programs(void **state)
{
    (void)state;
    put_machine();
    kymo_telemetry *t = create(1, SECOND);
    look(t, SECOND);
    assert_int_equal(find("Cgroup")->value[0], 500);
    assert_int_equal(find("Cgroup, limit")->value[0], 900);
    assert_null(find("Pressure, CPU"));
    /* A quarter of the second. */
    tree_put("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=250100\n");
    look(t, 2 * SECOND);
    assert_int_equal(find("Pressure, CPU")->value[1], 25);
    tree_put("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9250100\n");
    look(t, 3 * SECOND);
    assert_int_equal(find("Pressure, CPU")->value[2], 100);
    kymo_telemetry_destroy(t);

    t = create(0, SECOND);
    look(t, SECOND);
    assert_int_equal(told_count, 0);
    kymo_telemetry_destroy(t);
}

/* As they were when the process still had them. */
static void limits_and_peaks_are_told_at_the_end(void **state)
{
    (void)state;
    put_machine();
    tree_put("/proc/7/status", "VmHWM: 20 kB\n");
    kymo_telemetry *t = create(1, SECOND);
    look(t, SECOND);
    tree_put("/proc/7/status", "VmHWM: 24 kB\n");
    look(t, 2 * SECOND);
    assert_int_equal(info_count, 0);
    tree_put("/proc/7/status", "");
    look(t, 3 * SECOND);
    assert_int_equal(kymo_telemetry_finish(t), KYMO_OK);
    assert_int_equal(info_count, 4);
    assert_string_equal(infos[0].key, "process.rss_peak_bytes");
    assert_int_equal(infos[0].value, 24576);
    assert_int_equal(infos[0].time_ns, 2 * SECOND);
    assert_string_equal(infos[1].key, "cgroup.max_bytes");
    assert_int_equal(infos[1].value, 900);
    assert_int_equal(infos[1].time_ns, SECOND);
    assert_string_equal(infos[3].key, "cgroup.headroom_bytes");
    assert_int_equal(infos[3].value, 400);
    kymo_telemetry_destroy(t);
}

/* What hardly changes is not read at each look. */
static void limits_are_read_again_after_eight_looks(void **state)
{
    (void)state;
    put_machine();
    kymo_telemetry *t = create(1, SECOND);
    look(t, SECOND);
    tree_put("/cg/a/memory.max", "800\n");
    for (uint64_t i = 2; i <= 12; i++)
        look(t, i * SECOND);
    assert_int_equal(kymo_telemetry_finish(t), KYMO_OK);
    assert_string_equal(infos[0].key, "cgroup.max_bytes");
    assert_int_equal(infos[0].value, 800);
    assert_int_equal(infos[0].time_ns, 9 * SECOND);
    kymo_telemetry_destroy(t);
}

static void a_process_that_is_gone_says_nothing(void **state)
{
    (void)state;
    kymo_telemetry *t = create(1, SECOND);
    look(t, SECOND);
    look(t, 2 * SECOND);
    assert_int_equal(told_count, 0);
    assert_int_equal(categories, 0);
    assert_int_equal(kymo_telemetry_finish(t), KYMO_OK);
    assert_int_equal(info_count, 0);
    kymo_telemetry_destroy(t);
    assert_int_equal(kymo_telemetry_finish(NULL), KYMO_OK);
    look(NULL, SECOND);
    kymo_telemetry_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, tree_begin, tree_end)
        CASE(what_changes_has_its_track),           CASE(looks_come_quickly_at_first),
        CASE(children_are_looked_at_less),          CASE(what_is_shared_is_the_programs),
        CASE(limits_and_peaks_are_told_at_the_end), CASE(limits_are_read_again_after_eight_looks),
        CASE(a_process_that_is_gone_says_nothing),
#undef CASE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
