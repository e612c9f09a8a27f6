/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sample_type.h"

#include "profile_fixture.h"

static char first[] = "first", second[] = "second";
static char *const files[2] = {first, second};
static kymo_profile *profiles[2];
static uint32_t types[2];

static const kymo_sample_type cpu = {
    .size = sizeof cpu, .name = "cpu", .unit = "nanoseconds", .adds = KYMO_ADDS_CPU_TIME};
static const kymo_sample_type time = {
    .size = sizeof time, .name = "time", .unit = "nanoseconds", .adds = KYMO_ADDS_CPU_TIME};
static const kymo_sample_type samples = {
    .size = sizeof samples, .name = "samples", .unit = "count", .adds = KYMO_ADDS_AMOUNT};

static void make(int which, const char *format, const kymo_sample_type *rows, uint32_t count)
{
    kymo_profile *p = profiles[which] = new_profile();
    kymo_meta meta = {.size = sizeof meta, .format = format};
    ok(kymo_profile_set_meta(p, &meta));
    if (count)
        ok(kymo_profile_set_sample_types(p, rows, count, NULL));
    ok(kymo_profile_finish(p));
}

static int teardown(void **state)
{
    (void)state;
    kymo_profile_destroy(profiles[0]);
    kymo_profile_destroy(profiles[1]);
    return 0;
}

static int choose(const char *word, int is_by_total)
{
    const kymo_profile *const both[2] = {profiles[0], profiles[1]};
    return kymo_sample_types_choose(both, files, word, is_by_total, types);
}

static void one_name(void **state)
{
    (void)state;
    const kymo_sample_type rows[] = {samples, cpu};
    make(0, "pprof", rows, 2);
    make(1, NULL, NULL, 0);
    /* The default one of the first file is its first, which the recording has not. */
    assert_false(choose(NULL, 0));
    assert_true(choose("cpu", 0));
    assert_int_equal(types[0], 1);
    assert_int_equal(types[1], KYMO_SAMPLE_CPU);
    assert_false(choose("bytes", 0));
}

static void the_only_one_of_the_same_meaning(void **state)
{
    (void)state;
    const kymo_sample_type rows[] = {samples, time};
    make(0, "firefox", rows, 2);
    make(1, NULL, NULL, 0);
    /* Whichever file has the name. */
    assert_true(choose("cpu", 0));
    assert_int_equal(types[0], 1);
    assert_int_equal(types[1], KYMO_SAMPLE_CPU);
    assert_true(choose("time", 0));
    assert_int_equal(types[0], 1);
    assert_int_equal(types[1], KYMO_SAMPLE_CPU);
}

static void other_units_by_total_alone(void **state)
{
    (void)state;
    make(0, NULL, NULL, 0);
    make(1, "collapsed", &samples, 1);
    assert_false(choose(NULL, 0));
    assert_false(choose("cpu", 0));
    assert_true(choose(NULL, 1));
    assert_int_equal(types[0], KYMO_SAMPLE_CPU);
    assert_int_equal(types[1], 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
    const struct CMUnitTest tests[] = {
        T(one_name),
        T(the_only_one_of_the_same_meaning),
        T(other_units_by_total_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
