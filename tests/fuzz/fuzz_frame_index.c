/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is an ELF file, whose .eh_frame gets a search table. Whatever it is: each entry of the
 * table leads to an FDE that can be read, and that begins where the entry says.
 */
#include <stdlib.h>

#include "observe/frame_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int holds)
{
    if (!holds)
        abort();
}

static void check_table(const struct kymo_cfi_image *image, uint64_t hdr)
{
    struct kymo_cfi_index index;
    if (kymo_cfi_index_open(image, hdr, &index) != KYMO_CFI_FOUND)
        return;
    for (uint32_t i = 0; i < index.count; i++) {
        struct kymo_cfi_fde fde;
        check(i == 0 || kymo_cfi_index_pc(&index, i) >= kymo_cfi_index_pc(&index, i - 1));
        check(kymo_cfi_fde_read(image, kymo_cfi_index_fde(&index, i), &fde) == KYMO_CFI_FOUND);
        check(fde.pc_begin == kymo_cfi_index_pc(&index, i));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct kymo_cfi_image image;
    kymo_elf_file *file;
    uint64_t hdr;
    if (kymo_elf_open_image(data, len, &file) != KYMO_OK)
        return 0;
    if (kymo_frame_index_make(file, 0, 1u << 20, &image, &hdr) == KYMO_OK) {
        check_table(&image, hdr);
        free((void *)(uintptr_t)image.data);
    }
    kymo_elf_close(file);
    return 0;
}
