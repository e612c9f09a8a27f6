/* SPDX-License-Identifier: Apache-2.0 */
/* What a Firefox file says of functions that an interpreter runs. */
#include "encode/encoder.h"
#include "profile_fixture.h"

static kymo_profile *profile;

static int setup(void **state)
{
    *state = profile = new_profile();
    return 0;
}

static uint32_t named_at(const char *name, const char *file, uint32_t line)
{
    uint32_t id;
    kymo_function f = {.name = add_string(profile, name),
                       .source = file ? add_source(profile, file) : KYMO_NONE,
                       .start_line = line,
                       .module = KYMO_NONE};
    ok(kymo_profile_add_function(profile, &f, &id));
    return id;
}

static uint32_t below(uint32_t parent, uint32_t function, uint32_t line, kymo_category category)
{
    uint32_t frame, stack;
    ok(kymo_profile_add_lines_frame(profile, &(kymo_line){.function = function, .line = line}, 1,
                                    category, &frame));
    ok(kymo_profile_add_stack(profile, parent, frame, &stack));
    return stack;
}

static void assert_has(const kymo_bytes *out, const char *part)
{
    if (!strstr((const char *)out->data, part))
        fail_msg("no %s in %s", part, (const char *)out->data);
}

static void functions_of_scripts_are_told_apart(void **state)
{
    (void)state;
    uint32_t python = named_at("f", "f.py", 3);
    uint32_t native = named_at("f", "f.c", 3);
    uint32_t other = named_at("g", "f.py", 9);
    uint32_t stack = below(KYMO_NONE, native, 4, KYMO_CATEGORY_PROGRAM);
    stack = below(stack, python, 5, KYMO_CATEGORY_PYTHON);
    stack = below(stack, other, 9, KYMO_CATEGORY_PYTHON);
    stack = below(stack, python, 6, KYMO_CATEGORY_PYTHON);
    uint32_t thread = add_thread(profile, add_process(profile, 1, 0), 1, 0);
    ok(kymo_profile_add_sample(profile, thread, 1000, stack, 1000, KYMO_SAMPLE_CPU,
                               KYMO_STATE_RUNNING));
    ok(kymo_profile_finish(profile));
    kymo_bytes out;
    kymo_bytes_init(&out, 1 << 20);
    ok(kymo_encode(profile, kymo_format_for_path("x.json"), &out.sink, NULL, NULL));
    ok(kymo_bytes_append(&out, "", 1));
    assert_has(&out, "\"isJS\":[true,false,true]");
    assert_has(&out, "\"usesOnlyOneStackType\":false"); /* else the switch is not offered */
    assert_has(&out, "\"lineNumber\":[3,3,9]");
    assert_has(&out, "\"line\":[4,5,9,6]");
    assert_has(&out, "{\"name\":\"Python\",");
    kymo_bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(functions_of_scripts_are_told_apart, setup,
                                        destroy_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
