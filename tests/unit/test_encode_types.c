/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample types of a program in each format. Thread 1 allocates twice in f and once in g.
 */
#include "encode/encoder.h"
#include "kymo/report.h"
#include <stdlib.h>

#include "profile_fixture.h"

static kymo_profile *profile;

static void add(uint32_t thread, uint64_t time_ns, uint32_t stack, uint64_t count, uint64_t bytes)
{
    const uint64_t values[] = {count, bytes, 0};
    const kymo_sample sample = {.size = sizeof sample,
                                .thread = thread,
                                .time_ns = time_ns,
                                .stack = stack,
                                .labels = KYMO_NONE,
                                .type = KYMO_SAMPLE_EACH,
                                .values = values,
                                .value_count = 3};
    ok(kymo_profile_add_sample_values(profile, &sample, NULL));
}

static uint32_t stack_of(const char *name)
{
    uint32_t frame;
    ok(kymo_profile_add_label_frame(profile, add_function(profile, name, KYMO_NONE),
                                    KYMO_CATEGORY_PROGRAM, &frame));
    return add_stack(profile, KYMO_NONE, frame);
}

static int setup(void **state)
{
    const kymo_sample_type types[] = {
        {.size = sizeof *types, .name = "allocations", .unit = "count"},
        {.size = sizeof *types,
         .name = "allocated",
         .unit = "bytes",
         .is_default = 1,
         .period = 4096,
         .period_name = "space"},
        {.size = sizeof *types, .name = "unused", .unit = "count", .is_optional = 1},
    };
    profile = new_profile();
    ok(kymo_profile_set_sample_types(profile, types, 3, NULL));
    uint32_t thread = add_thread(profile, add_process(profile, 1, 1000), 1, 1000);
    uint32_t f = stack_of("f");
    add(thread, 1000000, f, 1, 100);
    add(thread, 2000000, stack_of("g"), 1, 64);
    add(thread, 3000000, f, 2, 4000);
    ok(kymo_profile_finish(profile));
    *state = profile;
    return 0;
}

static kymo_err encode_as(const char *name, uint32_t type, char **out, kymo_error *detail)
{
    kymo_encode_options options = {.size = sizeof options, .kind = type};
    void *data;
    size_t len;
    KYMO_TRY(
        kymo_encode_memory(profile, kymo_format_for_path(name), &options, &data, &len, detail));
    *out = realloc(data, len + 1);
    assert_non_null(*out);
    (*out)[len] = '\0';
    return KYMO_OK;
}

static void assert_shows(const char *name, uint32_t type, const char *part)
{
    char *text;
    ok(encode_as(name, type, &text, NULL));
    if (!strstr(text, part))
        fail_msg("no %s in %s", part, text);
    free(text);
}

static void formats_of_one_weight_show_the_type_that_is_asked_for(void **state)
{
    (void)state;
    assert_shows(".folded", KYMO_SAMPLE_DEFAULT, "pid 1;thread 1;f 4100\npid 1;thread 1;g 64\n");
    assert_shows(".folded", 0, "pid 1;thread 1;f 3\npid 1;thread 1;g 1\n");
    assert_shows(".svg", KYMO_SAMPLE_DEFAULT, "\"title\":\"allocated of");
    assert_shows(".svg", KYMO_SAMPLE_DEFAULT, "\"unit\":\"bytes\"");
    assert_shows(".svg", 0, "\"unit\":\"\"");
}

static void firefox_has_weights_of_one_type(void **state)
{
    (void)state;
    assert_shows(".json", KYMO_SAMPLE_DEFAULT,
                 "\"weight\":[0,100,64,4000],\"weightType\":\"bytes\"");
    assert_shows(".json", 0, "\"weight\":[0,1,1,2],\"weightType\":\"samples\"");
    char *text;
    ok(encode_as(".json", 0, &text, NULL));
    assert_null(strstr(text, "\"threadCPUDelta\":["));
    free(text);
}

static void what_cannot_be_shown_is_told(void **state)
{
    (void)state;
    kymo_error detail;
    char *text;
    assert_int_equal(encode_as(".folded", 3, &text, &detail), KYMO_E_INVALID);
    assert_string_equal(detail.message, "sample type 3 does not exist, there are 3");
}

static void reports_add_up_any_type(void **state)
{
    (void)state;
    kymo_report *report;
    kymo_report_options options = {.size = sizeof options, .kind = 0};
    size_t n;
    ok(kymo_report_create(profile, NULL, &report));
    assert_int_equal(kymo_report_total(report), 4164);
    assert_string_equal(kymo_report_rows(report, &n)->name, "f");
    assert_int_equal(kymo_report_rows(report, &n)->self, 4100);
    kymo_report_destroy(report);
    ok(kymo_report_create(profile, &options, &report));
    assert_int_equal(kymo_report_total(report), 4);
    kymo_report_processes(report, &n);
    assert_int_equal(n, 0);
    kymo_report_destroy(report);
    options.kind = 3;
    assert_int_equal(kymo_report_create(profile, &options, &report), KYMO_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_of_one_weight_show_the_type_that_is_asked_for),
        cmocka_unit_test(firefox_has_weights_of_one_type),
        cmocka_unit_test(what_cannot_be_shown_is_told),
        cmocka_unit_test(reports_add_up_any_type),
    };
    return cmocka_run_group_tests(tests, setup, destroy_profile);
}
