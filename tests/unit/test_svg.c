/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs: what stands in the file, for names of any kind, and how small it stays. */
#include "encode/encoder.h"
#include "profile_fixture.h"

static kymo_profile *profile;

static int setup(void **state)
{
    *state = profile = new_profile();
    return 0;
}

static uint32_t add_named_stack(kymo_profile *p, uint32_t parent, const char *name)
{
    uint32_t frame;
    ok(kymo_profile_add_label_frame(p, add_function(p, name, KYMO_NONE), KYMO_CATEGORY_PROGRAM,
                                    &frame));
    return add_stack(p, parent, frame);
}

static void add_sample(kymo_profile *p, uint32_t thread, uint32_t stack, uint64_t weight)
{
    ok(kymo_profile_add_sample(p, thread, 1000, stack, weight, KYMO_SAMPLE_CPU,
                               KYMO_STATE_RUNNING));
}

static void encode(const kymo_profile *before, kymo_bytes *out)
{
    kymo_encode_options options = {.size = sizeof options, .before = before};
    ok(kymo_profile_finish(profile));
    kymo_bytes_init(out, 64 << 20);
    ok(kymo_encode(profile, kymo_format_for_path("x.svg"), &out->sink, &options, NULL));
    ok(kymo_bytes_append(out, "", 1));
}

static void assert_has(const kymo_bytes *text, const char *part)
{
    if (!strstr((const char *)text->data, part))
        fail_msg("no %s in %s", part, (const char *)text->data);
}

static void threads_of_one_name_are_one_tree(void **state)
{
    (void)state;
    kymo_bytes out;
    uint32_t process = add_process(profile, 1, 1);
    uint32_t first = add_thread(profile, process, 1, 1);
    uint32_t second = add_thread(profile, process, 2, 1);
    uint32_t outer = add_named_stack(profile, KYMO_NONE, "outer");
    uint32_t inner = add_named_stack(profile, outer, "inner");
    add_sample(profile, first, inner, 10);
    add_sample(profile, first, outer, 5);
    add_sample(profile, first, inner, 10);
    add_sample(profile, second, outer, 7);
    add_sample(profile, second, KYMO_NONE, 3);
    encode(NULL, &out);
    assert_has(&out, "\"unit\":\"ns\",\"least\":1,\"modules\":[\"\"],"
                     "\"names\":[[\"outer\",0],[\"inner\",0],[\"[no stack]\",0]],"
                     "\"roots\":[[\"pid 1\",\"thread 1\"],[\"pid 1\",\"thread 2\"]],"
                     "\"parent\":[-1,0,-2,-2],\"name\":[0,1,0,2],\"self\":[5,20,7,3]}");
    kymo_bytes_deinit(&out);
}

/* Whatever a program calls its functions, it stays text. */
static void names_are_no_markup(void **state)
{
    (void)state;
    static const char *const names[] = {"</script><script>alert(1)</script>", "]]>",
                                        "a\x01 b\xff c",
                                        "\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd\xef\xbc\x81 &amp;"};
    static const char *const shown[] = {
        "\"\\u003c/script\\u003e\\u003cscript\\u003ealert(1)\\u003c/script\\u003e\"",
        "\"]]\\u003e\"",
        "\"a\\u0001 b\xef\xbf\xbd c\"",
        "\"\\ufffe\\uffff\xef\xbf\xbd\xef\xbc\x81 \\u0026amp;\"",
    };
    kymo_bytes out;
    uint32_t thread = add_thread(profile, add_process(profile, 1, 1), 1, 1);
    uint32_t stack = KYMO_NONE;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(names); i++)
        stack = add_named_stack(profile, stack, names[i]);
    add_sample(profile, thread, stack, 10);
    encode(NULL, &out);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(shown); i++)
        assert_has(&out, shown[i]);
    assert_null(strstr((const char *)out.data, "<script>alert"));
    kymo_bytes_deinit(&out);
}

/* One function calls 50000 that are too small, and one that is not. */
static void what_is_too_small_is_summed_up(void **state)
{
    (void)state;
    kymo_bytes out;
    uint32_t thread = add_thread(profile, add_process(profile, 1, 1), 1, 1);
    uint32_t outer = add_named_stack(profile, KYMO_NONE, "outer");
    add_sample(profile, thread, add_named_stack(profile, outer, "large"), 1000000000);
    for (int i = 0; i < 50000; i++) {
        char name[32];
        snprintf(name, sizeof name, "small %d", i);
        uint32_t stack = add_named_stack(profile, outer, name);
        add_sample(profile, thread, add_named_stack(profile, stack, "below"), 2);
    }
    encode(NULL, &out);
    assert_has(&out, "\"names\":[[\"outer\",0],[\"large\",0],[\"[too small to show]\",0]]");
    assert_has(&out, "\"least\":100011,");
    assert_has(&out, "\"parent\":[-1,0,0],\"name\":[0,1,2],\"self\":[0,1000000000,100000]}");
    assert_true(out.len < 40000);
    kymo_bytes_deinit(&out);
}

/* Many that would be shown each, and are too many. */
static void the_file_has_a_bound(void **state)
{
    (void)state;
    kymo_bytes out;
    uint32_t thread = add_thread(profile, add_process(profile, 1, 1), 1, 1);
    for (int i = 0; i < 5000; i++) {
        char name[32];
        snprintf(name, sizeof name, "chain %d", i);
        uint32_t stack = add_named_stack(profile, KYMO_NONE, name);
        for (int k = 0; k < 20; k++)
            stack = add_named_stack(profile, stack, name);
        add_sample(profile, thread, stack, 1000);
    }
    encode(NULL, &out);
    assert_has(&out, "\"self\":[5000000]}");
    kymo_bytes_deinit(&out);
}

static uint32_t add_chain(uint32_t parent, const char *name, int depth)
{
    for (int i = 0; i < depth; i++)
        parent = add_named_stack(profile, parent, name);
    return parent;
}

/* A recursion deeper than the file may have rows, with more weight than 64 bits hold. */
static void what_is_too_deep_is_cut(void **state)
{
    (void)state;
    kymo_bytes out;
    uint32_t thread = add_thread(profile, add_process(profile, 1, 1), 1, 1);
    uint32_t deep = add_chain(KYMO_NONE, "deep", 30000);
    for (int i = 0; i < 257; i++)
        add_sample(profile, thread, deep, 1ull << 56);
    encode(NULL, &out);
    assert_has(&out, "\"names\":[[\"deep\",0],[\"[too deep to show]\",0]]");
    assert_has(&out, ",19998,19999],\"name\":[0,0,");
    assert_has(&out, ",0,0,1],\"self\":[0,0,");
    assert_has(&out, ",0,0,18446744073709551615]}");
    kymo_bytes_deinit(&out);
}

/* Two recursions: what is beside them is not cut for their depth. */
static void breadth_is_kept_before_depth(void **state)
{
    (void)state;
    kymo_bytes out;
    uint32_t thread = add_thread(profile, add_process(profile, 1, 1), 1, 1);
    add_sample(profile, thread, add_chain(KYMO_NONE, "one", 15000), 4000);
    add_sample(profile, thread, add_chain(KYMO_NONE, "two", 15000), 4000);
    add_sample(profile, thread, add_named_stack(profile, KYMO_NONE, "beside"), 2000);
    encode(NULL, &out);
    assert_has(&out, "\"names\":[[\"one\",0],[\"two\",0],[\"beside\",0],"
                     "[\"[too deep to show]\",0]]");
    kymo_bytes_deinit(&out);
}

static void what_was_before_is_beside_it(void **state)
{
    (void)state;
    kymo_bytes out;
    kymo_profile *before = new_profile();
    uint32_t thread = add_thread(profile, add_process(profile, 1, 1), 1, 1);
    uint32_t other = add_thread(before, add_process(before, 1, 1), 1, 1);
    add_sample(profile, thread, add_named_stack(profile, KYMO_NONE, "both"), 10);
    add_sample(profile, thread, add_named_stack(profile, KYMO_NONE, "new"), 4);
    add_sample(before, other, add_named_stack(before, KYMO_NONE, "gone"), 6);
    add_sample(before, other, add_named_stack(before, KYMO_NONE, "both"), 7);
    ok(kymo_profile_finish(before));
    encode(before, &out);
    assert_has(&out, "\"names\":[[\"both\",0],[\"new\",0],[\"gone\",0]],"
                     "\"roots\":[[\"pid 1\",\"thread 1\"]],\"parent\":[-1,-1,-1],\"name\":[0,1,2],"
                     "\"self\":[10,4,0],\"before\":[7,0,6]}");
    kymo_bytes_deinit(&out);
    kymo_profile_destroy(before);
}

static void nothing_is_a_file_too(void **state)
{
    (void)state;
    kymo_bytes out;
    encode(NULL, &out);
    assert_has(&out, "\"roots\":[],\"parent\":[],\"name\":[],\"self\":[]}");
    kymo_bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_of_one_name_are_one_tree, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(names_are_no_markup, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(what_is_too_small_is_summed_up, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(the_file_has_a_bound, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(what_is_too_deep_is_cut, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(breadth_is_kept_before_depth, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(what_was_before_is_beside_it, setup, destroy_profile),
        cmocka_unit_test_setup_teardown(nothing_is_a_file_too, setup, destroy_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
