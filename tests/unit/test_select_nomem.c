/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of a selection fails once, with a sanitizer and without, for a profile that has
 * everything. What must come of it is KYMO_E_NOMEM; never a crash, nothing that leaks (the address
 * sanitizer looks).
 */
#include "failing_allocation.h"
#include "fixed_profile.h"
#include "select/select.h"

static kymo_profile *profile;

static kymo_err select_part(kymo_sanitizer *sanitizer)
{
    kymo_profile *part = NULL;
    kymo_selection selection = KYMO_SELECTION_ALL;
    selection.from_ns = 1;
    kymo_err err = kymo_select(profile, &selection, sanitizer, &part, NULL);
    kymo_profile_destroy(part);
    return err;
}

static kymo_err plain(void *unused)
{
    (void)unused;
    return select_part(NULL);
}

static kymo_err sanitized(void *unused)
{
    (void)unused;
    kymo_sanitizer *sanitizer = NULL;
    kymo_err err = kymo_sanitizer_create("host", &sanitizer);
    if (err == KYMO_OK)
        err = select_part(sanitizer);
    kymo_sanitizer_destroy(sanitizer);
    return err;
}

static void each_allocation(void **state)
{
    (void)state;
    profile = fixed_profile();
    assert_non_null(profile);
    assert_in_range(fail_each_allocation(plain, NULL), 20, 9999);
    assert_in_range(fail_each_allocation(sanitized, NULL), 20, 9999);
    kymo_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
