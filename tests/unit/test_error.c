/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "unit.h"

static void names_and_texts(void **state)
{
    (void)state;
    assert_string_equal(kymo_err_name(KYMO_OK), "KYMO_OK");
    assert_string_equal(kymo_err_name(KYMO_E_CORRUPT), "KYMO_E_CORRUPT");
    assert_string_equal(kymo_err_name((kymo_err)-999), "KYMO_E_UNKNOWN");
#define X(name, number, text) assert_string_equal(kymo_err_text(KYMO_E_##name), text);
    KYMO_ERROR_LIST(X)
#undef X
}

static void detail_is_filled(void **state)
{
    (void)state;
    kymo_error e;
    assert_int_equal(kymo_error_set(&e, KYMO_E_CORRUPT, 42, "block %d", 7), KYMO_E_CORRUPT);
    assert_string_equal(e.message, "block 7");
    assert_int_equal(e.position, 42);
    errno = ENOENT;
    assert_int_equal(kymo_error_set_errno(&e, "cannot open %s", "x"), KYMO_E_NOT_FOUND);
    assert_string_equal(e.message, "cannot open x: No such file or directory");
    assert_int_equal(e.sys_errno, ENOENT);
    errno = 0;
    assert_int_equal(kymo_error_set_errno(NULL, "x"), KYMO_E_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_texts),
        cmocka_unit_test(detail_is_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
