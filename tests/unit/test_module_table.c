/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static void categories_by_path(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        uint32_t is_main;
        uint32_t category;
    } cases[] = {
        {"/usr/bin/prog", 1, KYMO_CATEGORY_PROGRAM},
        {"/usr/lib/libfoo.so.1", 0, KYMO_CATEGORY_LIBRARY},
        {"/lib/x86_64-linux-gnu/libc.so.6", 0, KYMO_CATEGORY_LIBC},
        {"/lib64/ld-linux-x86-64.so.2", 0, KYMO_CATEGORY_LIBC},
        {"/usr/lib/libcurl.so.4", 0, KYMO_CATEGORY_LIBRARY},
        {"/usr/lib/libmagic.so.1", 0, KYMO_CATEGORY_LIBRARY},
        {"[vdso]", 0, KYMO_CATEGORY_LIBC},
        {"[kernel.kallsyms]", 0, KYMO_CATEGORY_KERNEL},
        {"[heap]", 0, KYMO_CATEGORY_OTHER},
    };
    kymo_profile *p = new_profile();
    uint32_t process = add_process(p, 1, 0);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cases); i++) {
        uint32_t id;
        kymo_module m = {.size = sizeof m,
                         .process = process,
                         .path = cases[i].path,
                         .is_main = cases[i].is_main};
        ok(kymo_profile_add_module(p, &m, &id));
        assert_int_equal(kymo_profile_module(p, id)->category, cases[i].category);
    }
    assert_string_equal(kymo_profile_module(p, 1)->name, "libfoo.so.1");
    kymo_profile_destroy(p);
}

static void a_file_is_its_path_and_build_id(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t a = add_process(p, 1, 0);
    uint32_t b = add_process(p, 2, 0);
    uint32_t first = add_module(p, a, "/lib/x.so", "id-1");
    uint32_t replaced = add_module(p, a, "/lib/x.so", "id-2");
    uint32_t elsewhere = add_module(p, a, "/opt/x.so", "id-1");
    uint32_t again = add_module(p, b, "/lib/x.so", "id-1");
    assert_int_equal(kymo_profile_module_file(p, first), first);
    assert_int_equal(kymo_profile_module_file(p, replaced), replaced);
    assert_int_equal(kymo_profile_module_file(p, elsewhere), elsewhere);
    assert_int_equal(kymo_profile_module_file(p, again), first);
    ok(kymo_profile_set_module_unload(p, again, 77));
    assert_int_equal(kymo_profile_module(p, again)->unload_ns, 77);
    assert_int_equal(kymo_profile_set_module_unload(p, 4, 77), KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

static void bad_rows_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t process = add_process(p, 1, 0);
    uint32_t id = 3;
    kymo_module m = {.size = sizeof m, .process = process, .path = "x", .start = 9, .end = 8};
    assert_int_equal(kymo_profile_add_module(p, &m, &id), KYMO_E_INVALID);
    m.end = 10;
    m.build_id_len = KYMO_BUILD_ID_MAX + 1;
    assert_int_equal(kymo_profile_add_module(p, &m, &id), KYMO_E_INVALID);
    m.build_id_len = 0;
    m.process = 1;
    assert_int_equal(kymo_profile_add_module(p, &m, &id), KYMO_E_INVALID);
    m.process = process;
    m.category = KYMO_CATEGORY_COUNT;
    assert_int_equal(kymo_profile_add_module(p, &m, &id), KYMO_E_INVALID);
    assert_int_equal(id, 3);
    m.category = KYMO_CATEGORY_KERNEL;
    ok(kymo_profile_add_module(p, &m, &id));
    assert_int_equal(kymo_profile_module(p, id)->category, KYMO_CATEGORY_KERNEL);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(categories_by_path),
        cmocka_unit_test(a_file_is_its_path_and_build_id),
        cmocka_unit_test(bad_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
