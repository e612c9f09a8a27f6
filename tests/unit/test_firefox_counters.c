/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of a Firefox file: their rows, and which ones there are. The recording is from 0 to 20
 * ms; process 1 lived all of it, process 2 from 5 to 10 ms.
 */
#include "encode/encoder.h"
#include "kymo/marker_abi.h"
#include "profile_fixture.h"

#define MS 1000000ull

static kymo_profile *profile;

static int setup(void **state)
{
    profile = new_profile();
    kymo_meta meta = {.size = sizeof meta, .end_ns = 20 * MS, .period_ns = MS};
    ok(kymo_profile_set_meta(profile, &meta));
    add_process(profile, 1, 1);
    uint32_t id;
    kymo_process second = {
        .size = sizeof second, .pid = 2, .start_ns = 5 * MS, .end_ns = 10 * MS, .name = "two"};
    ok(kymo_profile_add_process(profile, &second, &id));
    *state = profile;
    return 0;
}

static uint32_t add(uint32_t process, const char *name, const char *unit, uint32_t kind,
                    uint32_t flags)
{
    uint32_t id = KYMO_NONE;
    kymo_counter c = {.size = sizeof c,
                      .process = process,
                      .category = KYMO_NONE,
                      .name = add_string(profile, name),
                      .unit = add_string(profile, unit),
                      .description = add_string(profile, ""),
                      .kind = kind,
                      .flags = flags};
    ok(kymo_profile_add_counter(profile, &c, &id));
    return id;
}

static void add_counts(uint32_t counter, size_t n, const int64_t (*counts)[3])
{
    for (size_t i = 0; i < n; i++)
        ok(kymo_profile_add_count(profile, counter, (uint64_t)counts[i][0] * MS, counts[i][1],
                                  (uint64_t)counts[i][2]));
}

static void encode(uint32_t flags, kymo_bytes *out)
{
    kymo_encode_options options = {.size = sizeof options, .flags = flags};
    ok(kymo_profile_finish(profile));
    kymo_bytes_init(out, 1 << 20);
    ok(kymo_encode(profile, kymo_format_for_path("x.json"), &out->sink, &options, NULL));
    ok(kymo_bytes_append(out, "", 1));
}

static int has(const kymo_bytes *text, const char *part)
{
    return strstr((const char *)text->data, part) != NULL;
}

static void assert_rows(uint32_t counter, size_t n, const int64_t (*counts)[3], const char *rows)
{
    kymo_bytes out;
    add_counts(counter, n, counts);
    encode(0, &out);
    if (!has(&out, rows))
        fail_msg("no %s in %s", rows, (const char *)out.data);
    kymo_bytes_deinit(&out);
}

static void a_gauge_begins_and_ends_with_its_values(void **state)
{
    (void)state;
    const int64_t counts[][3] = {{4, 6, 0}, {8, 5, 0}};
    assert_rows(add(0, "g", "", KYMO_COUNTER_GAUGE, 0), 2, counts,
                "{\"time\":[4,4,8,20],\"count\":[0,6,-1,0],\"length\":4}");
}

static void a_total_is_none_when_its_process_begins(void **state)
{
    (void)state;
    const int64_t counts[][3] = {{6, 3, 2}, {8, 5, 3}};
    assert_rows(add(1, "t", "bytes", KYMO_COUNTER_TOTAL, 0), 2, counts,
                "{\"time\":[5,6,8,10],\"count\":[0,3,2,0],\"number\":[0,2,1,0],\"length\":4}");
}

static void percent_are_fractions(void **state)
{
    (void)state;
    const int64_t counts[][3] = {{4, 43, 0}, {8, 0, 0}};
    assert_rows(add(0, "p", "percent", KYMO_COUNTER_GAUGE, 0), 2, counts,
                "\"count\":[0,0.43,-0.43,0]");
}

static void rates_per_second_are_of_bytes_alone(void **state)
{
    (void)state;
    const int64_t counts[][3] = {{4, 43, 1}, {8, 50, 2}};
    kymo_bytes out;
    add_counts(add(0, "r", "jobs", KYMO_COUNTER_TOTAL, KYMO_COUNTER_RATE), 2, counts);
    encode(0, &out);
    assert_false(has(&out, "\"source\":\"rate\""));
    assert_true(has(&out, "{\"time\":[0.000001,4,8,20],\"count\":[0,43,7,0]"));
    kymo_bytes_deinit(&out);
    add_counts(add(0, "b", "bytes", KYMO_COUNTER_TOTAL, KYMO_COUNTER_RATE), 2, counts);
    encode(0, &out);
    assert_true(has(&out, "\"source\":\"rate\",\"format\":{\"unit\":\"bytes-per-second\"}"));
    kymo_bytes_deinit(&out);
}

static void operations_are_shown_where_there_are_any(void **state)
{
    (void)state;
    const int64_t counts[][3] = {{4, 43, 0}, {8, 50, 0}};
    kymo_bytes out;
    add_counts(add(0, "g", "", KYMO_COUNTER_GAUGE, 0), 2, counts);
    encode(0, &out);
    assert_false(has(&out, "operations"));
    assert_false(has(&out, "\"number\":["));
    kymo_bytes_deinit(&out);
}

/* Process 2 lived for less than process 1, and both for less than a second. */
static void of_the_system_one_track_of_memory_is_shown(void **state)
{
    (void)state;
    const int64_t counts[][3] = {{6, 6, 0}, {8, 5, 0}};
    const int64_t same[][3] = {{6, 6, 0}, {8, 6, 0}};
    const struct {
        uint32_t process;
        const char *name;
        const int64_t (*counts)[3];
        int is_shown, is_shown_of_all;
    } rows[] = {
        {0, "Resident", counts, 1, 1},
        {0, "Swapped", counts, 0, 1},
        {1, "Resident", counts, 0, 1},
        {0, "Descriptors", same, 0, 0},
    };
    kymo_bytes out;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(rows); i++)
        add_counts(
            add(rows[i].process, rows[i].name, "bytes", KYMO_COUNTER_GAUGE, KYMO_COUNTER_SYSTEM), 2,
            rows[i].counts);
    for (uint32_t flags = 0; flags <= KYMO_ENCODE_ALL_COUNTERS; flags += KYMO_ENCODE_ALL_COUNTERS) {
        encode(flags, &out);
        for (size_t i = 0; i < KYMO_ARRAY_LEN(rows); i++) {
            char part[128];
            snprintf(part, sizeof part,
                     "{\"name\":\"%s\",\"category\":\"Other\",\"description\":\"\",\"pid\":\"%u\"",
                     rows[i].name, rows[i].process + 1);
            assert_int_equal(has(&out, part), flags ? rows[i].is_shown_of_all : rows[i].is_shown);
        }
        kymo_bytes_deinit(&out);
    }
}

/* 3 ms in the slice from 0 to 10 ms, and 2.5 ms in that to 20 ms, of two threads. */
static void cpu_time_of_processes_is_a_counter(void **state)
{
    (void)state;
    kymo_bytes out;
    uint32_t one = add_thread(profile, 0, 1, 1);
    uint32_t two = add_thread(profile, 0, 2, 1);
    ok(kymo_profile_add_sample(profile, one, 4 * MS, KYMO_NONE, MS, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_add_sample(profile, two, 6 * MS, KYMO_NONE, 2 * MS, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_add_sample(profile, one, 20 * MS, KYMO_NONE, 5 * MS / 2, KYMO_SAMPLE_CPU, 0));
    encode(0, &out);
    assert_true(has(&out, "\"name\":\"processCPU\",\"category\":\"CPU\""));
    assert_true(has(&out, "{\"time\":[0,10,20],\"count\":[0,3,2.5],\"length\":3}"));
    assert_true(has(&out, "{\"type\":\"value\",\"source\":\"rate\",\"format\":{\"unit\":"
                          "\"percent\"},\"label\":\"CPU\"}"));
    kymo_bytes_deinit(&out);
}

/* As much as a sample may weigh, so often that the sum is more than 64 bits hold. */
static void sums_of_cpu_time_do_not_wrap_around(void **state)
{
    (void)state;
    kymo_bytes out;
    uint32_t thread = add_thread(profile, 0, 1, 1);
    for (int i = 0; i < 256; i++)
        ok(kymo_profile_add_sample(profile, thread, 4 * MS, KYMO_NONE, 1ull << 56, KYMO_SAMPLE_CPU,
                                   0));
    encode(0, &out);
    assert_true(has(&out, "{\"time\":[0,10,20],\"count\":[0,18446744073709.551615,0],"
                          "\"length\":3}"));
    kymo_bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_gauge_begins_and_ends_with_its_values, setup,
                                        destroy_profile),
        cmocka_unit_test_setup_teardown(a_total_is_none_when_its_process_begins, setup,
                                        destroy_profile),
        cmocka_unit_test_setup_teardown(percent_are_fractions, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(rates_per_second_are_of_bytes_alone, setup,
                                        destroy_profile),
        cmocka_unit_test_setup_teardown(operations_are_shown_where_there_are_any, setup,
                                        destroy_profile),
        cmocka_unit_test_setup_teardown(cpu_time_of_processes_is_a_counter, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(sums_of_cpu_time_do_not_wrap_around, setup,
                                        destroy_profile),
        cmocka_unit_test_setup_teardown(of_the_system_one_track_of_memory_is_shown, setup,
                                        destroy_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
