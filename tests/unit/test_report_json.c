/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_json.h"

#include <math.h>
#include <string.h>

#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

/* One thread, two functions, every field of the format filled or null; what comes out is compared
 * to the byte, since programs read it. */
static kymo_profile *small_profile(void)
{
    kymo_profile *p;
    const char *argv[] = {"./prog", "a \"quoted\" word"};
    kymo_lost lost[] = {{"no block", 3}, {"bad\"kind\\\n", 1}};
    OK(kymo_profile_create(&p));
    kymo_meta meta = {.size = sizeof meta,
                      .argc = 2,
                      .argv = argv,
                      .engine = "perf",
                      .period_ns = 1000000,
                      .origin_monotonic_ns = 1000,
                      .end_ns = 2500001000};
    OK(kymo_profile_set_meta(p, &meta));
    kymo_quality quality = {.size = sizeof quality,
                            .samples = 2,
                            .lost_count = 2,
                            .lost = lost,
                            .achieved = 0.9994999,
                            .sampled_rate = NAN,
                            .stacks_complete = 1,
                            .frames_symbolized = 0.5,
                            .cpu_unsampled_ns = 1500,
                            .disturbed = 4,
                            .handler_ns = 5};
    OK(kymo_profile_set_quality(p, &quality));
    uint32_t process;
    kymo_process row = {.size = sizeof row,
                        .pid = 7,
                        .argc = 1,
                        .argv = argv,
                        .name = "prog",
                        .cpu_ns = 3000000,
                        .is_main = 1};
    OK(kymo_profile_add_process(p, &row, &process));
    uint32_t thread;
    kymo_thread t = {
        .size = sizeof t, .process = process, .tid = 8, .name = "main", .cpu_ns = 3000000};
    OK(kymo_profile_add_thread(p, &t, &thread));
    uint32_t module;
    kymo_module m = {.size = sizeof m,
                     .process = process,
                     .path = "/opt/prog",
                     .start = 0x1000,
                     .end = 0x2000,
                     .is_main = 1};
    OK(kymo_profile_add_module(p, &m, &module));

    kymo_function f = {.start_line = 12, .module = module};
    OK(kymo_profile_add_string(p, "work", 4, &f.name));
    OK(kymo_profile_add_source(p, "/src/w.c", 8, &f.source));
    uint32_t function;
    OK(kymo_profile_add_function(p, &f, &function));
    uint32_t named;
    uint32_t unnamed;
    kymo_line line = {.function = function, .line = 14};
    OK(kymo_profile_add_frame(p, module, 0x10, KYMO_CATEGORY_AUTO, &named));
    OK(kymo_profile_frame_set_lines(p, named, &line, 1, KYMO_NONE, 1));
    OK(kymo_profile_add_frame(p, module, 0x20, KYMO_CATEGORY_AUTO, &unnamed));
    uint32_t outer;
    uint32_t inner;
    OK(kymo_profile_add_stack(p, KYMO_NONE, unnamed, &outer));
    OK(kymo_profile_add_stack(p, outer, named, &inner));
    OK(kymo_profile_add_sample(p, thread, 2000, inner, 2000000, KYMO_SAMPLE_CPU, 0));
    OK(kymo_profile_add_sample(p, thread, 3000, outer, 1000000, KYMO_SAMPLE_CPU, 0));
    OK(kymo_profile_finish(p));
    return p;
}

static char *json_of(const kymo_profile *p, size_t top, int tree, kymo_bytes *bytes)
{
    kymo_report *r;
    kymo_report_options o = {.size = sizeof o, .by = KYMO_BY_FUNCTION, .kind = KYMO_SAMPLE_CPU};
    OK(kymo_report_create(p, &o, &r));
    kymo_bytes_init(bytes, 1 << 20);
    OK(kymo_report_write_json(p, NULL, r, "function", "cpu", top, tree, &bytes->sink));
    OK(kymo_bytes_append(bytes, "", 1));
    kymo_report_destroy(r);
    return (char *)bytes->data;
}

#define HEAD                                                                                    \
    "{\"format\":1,\"command\":[\"./prog\",\"a \\\"quoted\\\" word\"],\"duration_s\":2.5,"      \
    "\"quality\":{\"engine\":\"perf\",\"period_ns\":1000000,\"samples\":2,\"achieved\":0.9995," \
    "\"sampled_rate\":null,\"stacks_complete\":1,\"frames_symbolized\":0.5,"                    \
    "\"cpu_unsampled_s\":0.0000015,\"disturbed\":4,\"lost\":{\"no block\":3,\"bad_kind__\":1}," \
    "\"handler_ns\":5},"                                                                        \
    "\"processes\":[{\"pid\":7,\"name\":\"prog\",\"command\":[\"./prog\"],\"cpu_s\":0.003}],"   \
    "\"threads\":[{\"pid\":7,\"tid\":8,\"name\":\"main\",\"cpu_s\":0.003,\"samples\":2,"        \
    "\"achieved\":1,\"sampled_rate\":0.666667}],"                                               \
    "\"process_names\":[{\"name\":\"prog\",\"processes\":1,\"without_samples\":0,"              \
    "\"cpu_s\":0.003,\"unsampled_s\":0}],\"mode\":\"cpu\",\"by\":\"function\","                 \
    "\"functions\":[{\"name\":\"work\",\"file\":\"/src/w.c\",\"line\":12,\"module\":\"prog\","  \
    "\"self\":2000000,\"total\":2000000}"
#define SECOND                                                                                \
    ",{\"name\":\"[prog]\",\"file\":null,\"line\":null,\"module\":\"prog\",\"self\":1000000," \
    "\"total\":3000000}"
#define TREE                                                                                  \
    ",\"tree\":[{\"depth\":0,\"name\":\"[prog]\",\"file\":null,\"line\":null,"                \
    "\"module\":\"prog\",\"self\":1000000,\"total\":3000000},{\"depth\":1,\"name\":\"work\"," \
    "\"file\":\"/src/w.c\",\"line\":12,\"module\":\"prog\",\"self\":2000000,\"total\":2000000}]"
#define TAIL ",\"unit\":\"nanoseconds\",\"total\":3000000}\n"

static void the_whole_object(void **state)
{
    (void)state;
    kymo_bytes bytes;
    kymo_profile *p = small_profile();
    assert_string_equal(json_of(p, 0, 0, &bytes), HEAD SECOND "]" TAIL);
    kymo_bytes_deinit(&bytes);
    assert_string_equal(json_of(p, 1, 0, &bytes), HEAD "]" TAIL);
    kymo_bytes_deinit(&bytes);
    assert_string_equal(json_of(p, 0, 1, &bytes), HEAD SECOND "]" TREE TAIL);
    kymo_bytes_deinit(&bytes);
    kymo_profile_destroy(p);
}

static void what_a_ring_dropped(void **state)
{
    (void)state;
    kymo_bytes bytes;
    kymo_profile *p = small_profile();
    kymo_quality q = *kymo_profile_quality(p);
    q.ring_bytes = 65536;
    q.dropped_samples = 3;
    q.dropped_ns = 2500000;
    q.dropped_wall_samples = 1;
    q.dropped_wall_ns = 10000000;
    q.dropped_markers = 4;
    q.dropped_counts = 5;
    q.dropped_calls = 6;
    OK(kymo_profile_set_quality(p, &q));
    assert_non_null(strstr(json_of(p, 0, 0, &bytes),
                           "\"ring\":{\"bytes\":65536,\"dropped_samples\":3,"
                           "\"dropped_cpu_s\":0.0025,\"dropped_wall_samples\":1,"
                           "\"dropped_wall_s\":0.01,\"dropped_markers\":4,"
                           "\"dropped_counter_values\":5,\"dropped_call_events\":6}"));
    kymo_bytes_deinit(&bytes);
    kymo_profile_destroy(p);
}

static void samples_with_python(void **state)
{
    (void)state;
    kymo_bytes bytes;
    kymo_profile *p = small_profile();
    kymo_quality q = *kymo_profile_quality(p);
    assert_null(strstr(json_of(p, 0, 0, &bytes), "python_samples"));
    kymo_bytes_deinit(&bytes);
    q.python_samples = 7;
    OK(kymo_profile_set_quality(p, &q));
    assert_non_null(strstr(json_of(p, 0, 0, &bytes), ",\"python_samples\":7,"));
    kymo_bytes_deinit(&bytes);
    kymo_profile_destroy(p);
}

static void an_empty_profile(void **state)
{
    (void)state;
    kymo_bytes bytes;
    kymo_profile *p;
    OK(kymo_profile_create(&p));
    OK(kymo_profile_finish(p));
    assert_string_equal(
        json_of(p, 0, 1, &bytes),
        "{\"format\":1,\"command\":[],\"duration_s\":0,\"quality\":{\"engine\":null,"
        "\"period_ns\":0,\"samples\":0,\"achieved\":null,\"sampled_rate\":null,"
        "\"stacks_complete\":null,\"frames_symbolized\":null,\"cpu_unsampled_s\":0,"
        "\"disturbed\":0,\"lost\":{},\"handler_ns\":0},\"processes\":[],\"threads\":[],\"process_"
        "names\":[],"
        "\"mode\":\"cpu\",\"by\":\"function\",\"functions\":[],\"tree\":[],"
        "\"unit\":\"nanoseconds\",\"total\":0}\n");
    kymo_bytes_deinit(&bytes);
    kymo_profile_destroy(p);
}

/* A sink that fails stops the writer with its error. */
static void errors_come_back(void **state)
{
    (void)state;
    kymo_bytes bytes;
    kymo_report *r;
    kymo_profile *p = small_profile();
    OK(kymo_report_create(p, NULL, &r));
    kymo_bytes_init(&bytes, 10);
    assert_int_equal(kymo_report_write_json(p, NULL, r, "function", "cpu", 0, 0, &bytes.sink),
                     KYMO_E_TOO_BIG);
    kymo_bytes_deinit(&bytes);
    kymo_report_destroy(r);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_object),    cmocka_unit_test(what_a_ring_dropped),
        cmocka_unit_test(samples_with_python), cmocka_unit_test(an_empty_profile),
        cmocka_unit_test(errors_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
