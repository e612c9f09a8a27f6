/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of each reader fails once, for files of a profile that has everything. What must
 * come of it is KYMO_E_NOMEM; never a crash, nothing that leaks (the address sanitizer looks).
 */
#include <stdlib.h>

#include "failing_allocation.h"
#include "fixed_profile.h"
#include "kymo/encode.h"
#include "kymo/import.h"
#include "unit.h"

struct file {
    void *data;
    size_t len;
};

static kymo_err import(void *context)
{
    const struct file *file = context;
    kymo_profile *profile = NULL;
    kymo_err err = kymo_import_memory(file->data, file->len, &profile, NULL);
    kymo_profile_destroy(profile);
    return err;
}

static void fail_each(const char *ending)
{
    kymo_profile *profile = fixed_profile();
    const kymo_encode_options options = {.size = sizeof options};
    struct file file;
    assert_int_equal(kymo_encode_memory(profile, kymo_format_for_path(ending), &options, &file.data,
                                        &file.len, NULL),
                     KYMO_OK);
    kymo_profile_destroy(profile);
    assert_in_range(fail_each_allocation(import, &file), 3, 9999);
    free(file.data);
}

static void each_allocation_of_a_reader(void **state)
{
    (void)state;
    static const char *const endings[] = {".pb.gz", ".jfr", ".folded", ".json", ".json.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        fail_each(endings[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
