/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbol_strings.h"
#include "unit.h"

#include <string.h>

static void shows(const char *name, const char *expected)
{
    kymo_str out = {0};
    bool done = kymo_demangle(name, &out);
    if (expected) {
        assert_true(done);
        assert_string_equal(kymo_str_cstr(&out), expected);
    } else {
        assert_false(done);
    }
    kymo_str_deinit(&out);
}

static void cxx(void **state)
{
    (void)state;
    shows("_ZN6shapes3BoxIiEC4Ei", "shapes::Box<int>::Box(int)");
    shows("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size() const");
    shows("_Z3foov.cold", "foo() [clone .cold]");
    shows("_ZdlPvm@@CXXABI_1.3.9", "operator delete(void*, unsigned long)@@CXXABI_1.3.9");
    shows("_Z3foov@plt", "foo()@plt");
}

static void rust_without_hashes(void **state)
{
    (void)state;
    shows("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
    shows(
        "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740"
        "aa94f1d3aE",
        "<Test + 'static as foo::Bar<Test>>::bar");
    shows("_RNvC6_123foo3bar", "123foo::bar");
    shows("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
          "<std::path::PathBuf>::new");
}

static void others_stay_as_they_are(void **state)
{
    (void)state;
    shows("main", NULL);
    shows("", NULL);
    shows("_", NULL);
    shows("_start", NULL);
    shows("__libc_start_main", NULL);
    shows("_ZN3foo", NULL);
    shows("_Rubbish", NULL);
}

/* f(a<int, int>, a<that, that>, a<that, that>, ...): each parameter is twice the one before. */
static void exploding_name(kymo_str *name, int parameters)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    kymo_str_puts(name, "_Z1f1aIiiE");
    for (int i = 0; i < parameters; i++)
        kymo_str_printf(name, "S_IS%c_S%c_E", digits[i], digits[i]);
}

static void a_name_that_explodes_is_refused(void **state)
{
    (void)state;
    kymo_str name = {0};
    exploding_name(&name, 2);
    shows(name.data, "f(a<int, int>, a<a<int, int>, a<int, int> >, "
                     "a<a<a<int, int>, a<int, int> >, a<a<int, int>, a<int, int> > >)");
    name.len = 0;
    exploding_name(&name, 36); /* of 406 bytes, for 10^12 of text */
    shows(name.data, NULL);
    kymo_str_deinit(&name);
}

static void equal_names_are_one_pointer(void **state)
{
    (void)state;
    kymo_symbol_strings strings = {0};
    const char *system1, *shown1, *system2, *shown2;
    assert_int_equal(kymo_symbol_strings_add_name(&strings, "_Z3foov", &system1, &shown1), KYMO_OK);
    assert_int_equal(kymo_symbol_strings_add_name(&strings, "_Z3foov", &system2, &shown2), KYMO_OK);
    assert_ptr_equal(system1, system2);
    assert_ptr_equal(shown1, shown2);
    assert_string_equal(shown1, "foo()");
    assert_ptr_equal(kymo_symbol_strings_add(&strings, "foo()x", 5), shown1);
    assert_int_equal(kymo_symbol_strings_add_name(&strings, "main", &system1, &shown1), KYMO_OK);
    assert_ptr_equal(system1, shown1);
    kymo_symbol_strings_deinit(&strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cxx),
        cmocka_unit_test(rust_without_hashes),
        cmocka_unit_test(others_stay_as_they_are),
        cmocka_unit_test(a_name_that_explodes_is_refused),
        cmocka_unit_test(equal_names_are_one_pointer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
