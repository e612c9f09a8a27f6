/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/elf_notes.h"

#include "unit.h"

/* One of another kind, then a build-id of five bytes. */
static const struct {
    Elf64_Nhdr first;
    char first_name[4], first_bytes[4];
    Elf64_Nhdr second;
    char second_name[4], id[8];
} notes = {
    {4, 2, NT_GNU_ABI_TAG}, "GNU", "ab", {4, 5, NT_GNU_BUILD_ID}, "GNU", "12345",
};

static void the_build_id_is_found(void **state)
{
    (void)state;
    uint32_t len = 0;
    assert_ptr_equal(kymo_elf_build_id(&notes, sizeof notes, 20, &len), notes.id);
    assert_int_equal(len, 5);
    /* Its padding may be missing. */
    assert_ptr_equal(kymo_elf_build_id(&notes, sizeof notes - 3, 20, &len), notes.id);
    assert_null(kymo_elf_build_id(&notes, sizeof notes, 4, &len));
}

static void what_is_cut_has_none(void **state)
{
    (void)state;
    uint32_t len;
    for (size_t size = 0; size < sizeof notes - 3; size++)
        assert_null(kymo_elf_build_id(&notes, size, 20, &len));
    const Elf64_Nhdr endless = {UINT32_MAX, UINT32_MAX, NT_GNU_BUILD_ID};
    assert_null(kymo_elf_build_id(&endless, sizeof endless, 20, &len));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_build_id_is_found),
        cmocka_unit_test(what_is_cut_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
