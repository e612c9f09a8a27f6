/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search table of .eh_frame: that of this program is what its linker has made.
 */
#include "observe/frame_index.h"

#include <link.h>
#include <stdlib.h>

#include "elf_builder.h"
#include "unit.h"

#define MOST (64u << 20)

struct own {
    uint64_t bias, hdr;
    size_t hdr_bytes;
};

static int on_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct own *own = context;
    own->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
            own->hdr = own->bias + info->dlpi_phdr[i].p_vaddr;
            own->hdr_bytes = info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the first one is the program */
}

static void it_is_what_linkers_make(void **state)
{
    (void)state;
    struct own own = {0};
    struct kymo_cfi_image image;
    struct kymo_cfi_index made, linked;
    uint64_t hdr;
    dl_iterate_phdr(on_module, &own);
    if (!own.hdr)
        skip();
    const struct kymo_cfi_image theirs = {(const uint8_t *)(uintptr_t)own.hdr, own.hdr_bytes,
                                          own.hdr};
    kymo_elf_file *file;
    assert_int_equal(kymo_elf_open("/proc/self/exe", &file), KYMO_OK);
    assert_int_equal(kymo_frame_index_make(file, own.bias, MOST, &image, &hdr), KYMO_OK);
    kymo_elf_close(file);
    assert_int_equal(kymo_cfi_index_open(&image, hdr, &made), KYMO_CFI_FOUND);
    assert_int_equal(kymo_cfi_index_open(&theirs, own.hdr, &linked), KYMO_CFI_FOUND);
    /* A linker may list functions that are empty. */
    assert_in_range(made.count, 100, linked.count);
    for (uint32_t i = 0; i < made.count; i++) {
        uint64_t pc = kymo_cfi_index_pc(&made, i);
        uint32_t at = kymo_cfi_index_search(&linked, pc);
        struct kymo_cfi_fde fde;
        assert_int_not_equal(at, linked.count);
        assert_int_equal(kymo_cfi_index_pc(&linked, at), pc);
        assert_int_equal(kymo_cfi_fde_read(&image, kymo_cfi_index_fde(&made, i), &fde),
                         KYMO_CFI_FOUND);
        assert_int_equal(fde.pc_begin, pc);
    }
    free((void *)(uintptr_t)image.data);
}

static void a_file_without_it_is_refused(void **state)
{
    (void)state;
    struct kymo_cfi_image image;
    kymo_elf_file *file;
    uint64_t hdr;
    struct elf_image program = elf_image_program();
    assert_int_equal(kymo_elf_open_image(&program, sizeof program, &file), KYMO_OK);
    assert_int_equal(kymo_frame_index_make(file, 0, MOST, &image, &hdr), KYMO_E_NOT_FOUND);
    kymo_elf_close(file);
}

static void its_size_is_limited(void **state)
{
    (void)state;
    struct kymo_cfi_image image;
    kymo_elf_file *file;
    uint64_t hdr;
    assert_int_equal(kymo_elf_open("/proc/self/exe", &file), KYMO_OK);
    assert_int_equal(kymo_frame_index_make(file, 0, 100, &image, &hdr), KYMO_E_TOO_BIG);
    kymo_elf_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_linkers_make),
        cmocka_unit_test(a_file_without_it_is_refused),
        cmocka_unit_test(its_size_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
