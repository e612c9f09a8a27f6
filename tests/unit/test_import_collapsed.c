/* SPDX-License-Identifier: Apache-2.0 */
#include "import_fixture.h"

static void lines_add_up(void **state)
{
    (void)state;
    kymo_profile *p = import_text("# of a script\n"
                                  "main;f;g 5\n"
                                  "main;f;f 3\r\n"
                                  "\n"
                                  "main 4\n"
                                  "a name with blanks;g\t1"); /* without an end of the line */
    kymo_report *r;
    ok(kymo_report_create(p, NULL, &r));
    assert_int_equal(kymo_report_total(r), 13);
    assert_row(r, 0, "g", 6, 6);
    assert_row(r, 1, "main", 4, 12);
    assert_row(r, 2, "f", 3, 8);
    assert_row(r, 3, "a name with blanks", 0, 1);
    assert_string_equal(kymo_report_type(r)->name, "samples");
    assert_string_equal(kymo_profile_meta(p)->format, "collapsed");
    kymo_report_destroy(r);
    kymo_profile_destroy(p);
}

static kymo_category category_of(const kymo_profile *p, const char *name)
{
    for (uint32_t i = 0; i < kymo_profile_count(p, KYMO_TABLE_FRAMES); i++) {
        char label[64];
        if (strcmp(kymo_profile_frame_label(p, i, label, sizeof label), name) == 0)
            return (kymo_category)kymo_profile_frame(p, i)->category;
    }
    return KYMO_CATEGORY_AUTO;
}

static void suffixes_say_what_code_it_is(void **state)
{
    (void)state;
    kymo_profile *p = import_text("java;Thread.run_[j];Inner.get_[i];read_[k] 2\njava;_[k] 1\n");
    assert_int_equal(category_of(p, "read"), KYMO_CATEGORY_KERNEL);
    assert_int_equal(category_of(p, "Thread.run"), KYMO_CATEGORY_JIT);
    assert_int_equal(category_of(p, "Inner.get"), KYMO_CATEGORY_JIT);
    assert_int_equal(category_of(p, "java"), KYMO_CATEGORY_OTHER);
    assert_int_equal(category_of(p, "_[k]"), KYMO_CATEGORY_OTHER);
    kymo_profile_destroy(p);
}

static void odd_names_are_kept(void **state)
{
    (void)state;
    kymo_profile *p = import_text("a;;\xff;b 1\n;a 2\n");
    kymo_report *r;
    ok(kymo_report_create(p, NULL, &r));
    assert_row(r, 0, "a", 2, 3);
    assert_row(r, 1, "b", 1, 1);
    assert_row(r, 2, "?", 0, 3);
    assert_row(r, 3, "\xef\xbf\xbd", 0, 1);
    kymo_report_destroy(r);
    kymo_profile_destroy(p);
}

static void differences_are_refused(void **state)
{
    (void)state;
    assert_import_fails("a;b 1 2\na;c 3 0\n", KYMO_E_UNSUPPORTED, "two numbers: a difference");
    kymo_profile *p = import_text("a;b 1 2\na;c 3\n"); /* the name "b 1" */
    kymo_profile_destroy(p);
}

static void a_deep_stack_is_a_long_line(void **state)
{
    (void)state;
    char line[9000];
    for (size_t i = 0; i < sizeof line; i += 3)
        memcpy(line + i, "ab;", 3);
    strcpy(line + sizeof line - 5, " 12\n");
    kymo_profile *p = import_text(line);
    assert_int_equal(kymo_profile_sample_count(p), 1);
    kymo_profile_destroy(p);
    line[0] = '{';
    assert_null(kymo_import_format_of(line, 4096));
    assert_null(kymo_import_format_of("ab;c", 4));
}

static void errors_say_where(void **state)
{
    (void)state;
    char text[5000];
    memset(text, '\n', sizeof text);
    memcpy(text, "a;b 1\n", 6);
    strcpy(text + sizeof text - 10, "a;c x\n");
    assert_import_fails(text, KYMO_E_CORRUPT,
                        "collapsed data at byte 4990: line 4986 has no number at its end");
    strcpy(text + sizeof text - 10, "a;c");
    assert_import_fails(text, KYMO_E_TRUNCATED, "ends too early, at byte 4993");
    assert_import_fails("a;b 1\nsome text\n", KYMO_E_UNSUPPORTED, "not a format");
    assert_import_fails("a;b 1\na;b 18446744073709551616\n", KYMO_E_UNSUPPORTED,
                        "line 2 has the count 18446744073709551616, which is too large");
    assert_import_fails("# by hand\n\na;b 1\na;b -5\n", KYMO_E_UNSUPPORTED,
                        "line 4 has the count -5, which is below 0");
    assert_import_fails("a;b x-5\n", KYMO_E_UNSUPPORTED, "not a format");
    assert_import_fails("a;b -\n", KYMO_E_UNSUPPORTED, "not a format");
    assert_import_fails("", KYMO_E_UNSUPPORTED, "not a format");
    assert_import_fails("a 1\n", KYMO_E_UNSUPPORTED, "not a format");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_add_up),
        cmocka_unit_test(suffixes_say_what_code_it_is),
        cmocka_unit_test(odd_names_are_kept),
        cmocka_unit_test(a_deep_stack_is_a_long_line),
        cmocka_unit_test(differences_are_refused),
        cmocka_unit_test(errors_say_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
