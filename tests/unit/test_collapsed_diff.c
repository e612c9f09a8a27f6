/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/encoder.h"
#include "profile_fixture.h"

static kymo_profile *profiles[2];

static uint32_t add_named(kymo_profile *p, uint32_t parent, const char *name)
{
    uint32_t frame;
    ok(kymo_profile_add_label_frame(p, add_function(p, name, KYMO_NONE), KYMO_CATEGORY_PROGRAM,
                                    &frame));
    return add_stack(p, parent, frame);
}

static void add_weight(kymo_profile *p, uint32_t thread, uint32_t stack, uint64_t weight)
{
    ok(kymo_profile_add_sample(p, thread, 1000, stack, weight, KYMO_SAMPLE_CPU, 0));
}

/* Ids differ between the two: what is shown counts. */
static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        kymo_profile *p = profiles[i] = new_profile();
        uint32_t thread = add_thread(p, add_process(p, 7, 0), 7, 0);
        if (i)
            add_weight(p, thread, add_named(p, KYMO_NONE, "fresh;one"), 5);
        uint32_t main = add_named(p, KYMO_NONE, "main");
        add_weight(p, thread, add_named(p, main, "both"), i ? 30 : 20);
        if (!i)
            add_weight(p, thread, main, 4);
        add_weight(p, thread, KYMO_NONE, i ? 0 : 9);
        ok(kymo_profile_finish(p));
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_profile_destroy(profiles[0]);
    kymo_profile_destroy(profiles[1]);
    return 0;
}

static void a_line_has_both_weights(void **state)
{
    (void)state;
    kymo_bytes out;
    kymo_encode_options options = {.size = sizeof options, .before = profiles[0]};
    kymo_bytes_init(&out, 1 << 20);
    ok(kymo_encode(profiles[1], kymo_format_for_path("x.folded"), &out.sink, &options, NULL));
    ok(kymo_bytes_append(&out, "", 1));
    assert_string_equal((const char *)out.data, "pid 7;thread 7;fresh:one 0 5\n"
                                                "pid 7;thread 7;main 4 0\n"
                                                "pid 7;thread 7;main;both 20 30\n"
                                                "pid 7;thread 7;[no stack] 9 0\n");
    kymo_bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_has_both_weights, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
