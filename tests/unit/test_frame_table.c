/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void identity_is_place_and_category(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t process = add_process(p, 1, 0);
    uint32_t m = add_module(p, process, "/lib/x.so", "id");
    uint32_t f = add_frame(p, m, 0x10);
    uint32_t id;
    assert_int_equal(add_frame(p, m, 0x10), f);
    assert_int_not_equal(add_frame(p, m, 0x11), f);
    ok(kymo_profile_add_frame(p, m, 0x10, KYMO_CATEGORY_LIBRARY, &id));
    assert_int_equal(id, f); /* what AUTO was for this module */
    ok(kymo_profile_add_frame(p, m, 0x10, KYMO_CATEGORY_KERNEL, &id));
    assert_int_not_equal(id, f);
    assert_int_equal(kymo_profile_frame(p, f)->category, KYMO_CATEGORY_LIBRARY);
    uint32_t outside = add_frame(p, KYMO_NONE, 0x10);
    assert_int_equal(kymo_profile_frame(p, outside)->category, KYMO_CATEGORY_GENERATED);
    assert_int_equal(kymo_profile_add_frame(p, 1, 0x10, KYMO_CATEGORY_AUTO, &id), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_add_frame(p, m, KYMO_NO_ADDRESS, KYMO_CATEGORY_AUTO, &id),
                     KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

static void labels_are_interned_by_function(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t f = add_function(p, "[truncated]", KYMO_NONE);
    uint32_t g = add_function(p, "[idle]", KYMO_NONE);
    uint32_t a;
    uint32_t b;
    uint32_t id;
    ok(kymo_profile_add_label_frame(p, f, KYMO_CATEGORY_AUTO, &a));
    ok(kymo_profile_add_label_frame(p, g, KYMO_CATEGORY_AUTO, &b));
    assert_int_not_equal(a, b);
    ok(kymo_profile_add_label_frame(p, f, KYMO_CATEGORY_OTHER, &id));
    assert_int_equal(id, a);
    uint32_t n;
    assert_int_equal(kymo_profile_frame_lines(p, b, &n)->function, g);
    assert_int_equal(n, 1);
    assert_int_equal(kymo_profile_frame_set_lines(p, a, NULL, 0, KYMO_NONE, 0), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_add_label_frame(p, 2, KYMO_CATEGORY_AUTO, &id), KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

static void frames_without_an_address_are_interned_by_lines(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    kymo_line lines[2] = {{add_function(p, "inner", KYMO_NONE), 3, 1},
                          {add_function(p, "outer", KYMO_NONE), 1, 0}};
    uint32_t a, b, id, n;
    ok(kymo_profile_add_lines_frame(p, lines, 2, KYMO_CATEGORY_JIT, &a));
    ok(kymo_profile_add_lines_frame(p, lines, 2, KYMO_CATEGORY_JIT, &id));
    assert_int_equal(id, a);
    ok(kymo_profile_add_lines_frame(p, lines, 1, KYMO_CATEGORY_JIT, &b));
    assert_int_not_equal(b, a);
    lines[0].line = 4;
    ok(kymo_profile_add_lines_frame(p, lines, 2, KYMO_CATEGORY_JIT, &id));
    assert_int_not_equal(id, a);
    assert_int_equal(kymo_profile_frame_lines(p, a, &n)->line, 3);
    assert_int_equal(n, 2);
    uint32_t map[] = {0, KYMO_NONE, 0};
    ok(kymo_profile_drop_frames(p, map));
    ok(kymo_profile_add_lines_frame(p, lines, 2, KYMO_CATEGORY_JIT, &id));
    assert_int_equal(id, map[2]);
    assert_int_equal(kymo_profile_add_lines_frame(p, lines, 0, KYMO_CATEGORY_JIT, &id),
                     KYMO_E_INVALID);
    lines[1].function = 9;
    assert_int_equal(kymo_profile_add_lines_frame(p, lines, 2, KYMO_CATEGORY_JIT, &id),
                     KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

static void lines_are_replaced(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t process = add_process(p, 1, 0);
    uint32_t m = add_module(p, process, "/lib/x.so", "id");
    uint32_t a = add_frame(p, m, 0x10);
    uint32_t b = add_frame(p, m, 0x20);
    kymo_line lines[3] = {{add_function(p, "inner", m), 3, 1},
                          {add_function(p, "middle", m), 2, 0},
                          {add_function(p, "outer", m), 1, 0}};
    uint32_t n = 9;
    assert_null(kymo_profile_frame_lines(p, a, &n));
    assert_int_equal(n, 0);
    ok(kymo_profile_frame_set_lines(p, a, lines, 2, KYMO_NONE, 1));
    ok(kymo_profile_frame_set_lines(p, b, lines, 1, KYMO_NONE, 1));
    ok(kymo_profile_frame_set_lines(p, a, lines, 3, KYMO_NONE, 0));
    assert_memory_equal(kymo_profile_frame_lines(p, a, &n), lines, sizeof lines);
    assert_int_equal(n, 3);
    assert_int_equal(kymo_profile_frame_lines(p, b, &n)->line, 3);
    assert_int_equal(n, 1);
    ok(kymo_profile_frame_set_lines(p, a, lines + 2, 1, KYMO_NONE, 1));
    assert_int_equal(kymo_profile_frame_lines(p, a, &n)->line, 1);
    assert_int_equal(n, 1);
    lines[0].function = 99;
    assert_int_equal(kymo_profile_frame_set_lines(p, a, lines, 3, KYMO_NONE, 1), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_frame_set_lines(p, a, lines + 1, 1, 0, 1), KYMO_E_INVALID);
    static kymo_line deep[KYMO_FRAME_LINES_MAX + 1];
    assert_int_equal(
        kymo_profile_frame_set_lines(p, a, deep, KYMO_FRAME_LINES_MAX + 1, KYMO_NONE, 1),
        KYMO_E_TOO_BIG);
    assert_int_equal(kymo_profile_frame_lines(p, a, &n)->line, 1);
    kymo_profile_destroy(p);
}

static void labels(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t process = add_process(p, 1, 0);
    uint32_t m = add_module(p, process, "/lib/x.so", "id");
    uint32_t a = add_frame(p, m, 0xabc);
    uint32_t b = add_frame(p, KYMO_NONE, 0x7f0000001234);
    char out[64];
    assert_string_equal(kymo_profile_frame_label(p, a, out, sizeof out), "x.so+0xabc");
    assert_string_equal(kymo_profile_frame_label(p, b, out, sizeof out), "0x7f0000001234");
    kymo_line line = {add_function(p, "g\xc3\xa9n\xc3\xa9ral", m), 1, 0};
    ok(kymo_profile_frame_set_lines(p, a, &line, 1, KYMO_NONE, 1));
    assert_string_equal(kymo_profile_frame_label(p, a, out, sizeof out), "g\xc3\xa9n\xc3\xa9ral");
    assert_string_equal(kymo_profile_frame_label(p, a, out, 6), "g\xc3\xa9n");
    assert_string_equal(kymo_profile_frame_label(p, 77, out, sizeof out), "");
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_is_place_and_category),
        cmocka_unit_test(labels_are_interned_by_function),
        cmocka_unit_test(frames_without_an_address_are_interned_by_lines),
        cmocka_unit_test(lines_are_replaced),
        cmocka_unit_test(labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
