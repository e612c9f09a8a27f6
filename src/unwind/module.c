/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc reserves the whole span of a library before it maps the segments, but the kernel, which
 * maps the program, leaves holes where the linker did (node's has three). Such an object is one
 * module to us and one range for each segment to _dl_find_object: its headers, its text and its
 * .eh_frame would be in three modules.
 */
#include "unwind/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "arch/row.h"
#include "base/search.h"
#include "unwind/row_cache.h"
#include "unwind/stack_window.h"

/* Call frame instructions run for one frame. The longest entry of cc1 (gcc 12.2) has 13361. */
#define BUDGET 16384u

/* From the first byte of the program's first segment to the last of its last; written by
 * kymo_module_program alone. */
static struct {
    uint64_t lo, hi;
} program;

void kymo_module_program(uint64_t lo, uint64_t hi)
{
    program.lo = lo;
    program.hi = hi;
}

static bool find_outside(const struct kymo_outside *outside, uint64_t pc,
                         struct kymo_unwind_module *module)
{
    size_t at = KYMO_COUNT_WHERE(i, outside->count, outside->modules[i].map_end <= pc);
    const struct kymo_outside_module *m = &outside->modules[at];
    if (at == outside->count || pc < m->map_start)
        return false;
    *module =
        (struct kymo_unwind_module){m->map_start, m->map_end, m->eh_frame_hdr, NULL, m, false};
    return true;
}

KYMO_NOINLINE bool kymo_module_find(const struct kymo_outside *outside, uint64_t pc,
                                    struct kymo_unwind_module *module)
{
    struct dl_find_object found;
    if (outside)
        return find_outside(outside, pc, module);
    if (_dl_find_object((void *)(uintptr_t)pc, &found) != 0)
        return false;
    module->map_start = (uint64_t)(uintptr_t)found.dlfo_map_start;
    module->map_end = (uint64_t)(uintptr_t)found.dlfo_map_end;
    module->eh_frame_hdr = (uint64_t)(uintptr_t)found.dlfo_eh_frame;
    module->link_map = found.dlfo_link_map;
    if (module->map_start >= program.lo && module->map_end <= program.hi) {
        module->map_start = program.lo;
        module->map_end = program.hi;
    }
    module->outside = NULL;
    module->may_probe = false;
    return true;
}

/* A program may take the right to read away from what it has mapped. Only pages are looked at where
 * parts begin: who protects one protects all of it. */
static bool is_readable(const struct kymo_unwind_module *module, uint64_t address)
{
    return !module->may_probe || kymo_page_readable(address);
}

/* The program headers of a mapped module; NULL when its first page does not begin with them. */
static const Elf64_Phdr *program_headers(const struct kymo_unwind_module *module, unsigned *count)
{
    const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)(uintptr_t)module->map_start;
    if (module->map_end - module->map_start < 4096 || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 ||
        ehdr->e_phentsize != sizeof(Elf64_Phdr) || ehdr->e_phoff % 8 != 0 || ehdr->e_phoff > 4096 ||
        ehdr->e_phnum > (4096 - ehdr->e_phoff) / sizeof(Elf64_Phdr))
        return NULL;
    *count = ehdr->e_phnum;
    return (const Elf64_Phdr *)(uintptr_t)(module->map_start + ehdr->e_phoff);
}

/* The part of the module around address that may be read: its segment, since there may be holes
 * between segments. A module whose headers are not mapped is taken as a whole. */
static bool image_around(const struct kymo_unwind_module *module, uint64_t address,
                         struct kymo_cfi_image *image)
{
    uint64_t lo = module->map_start;
    uint64_t hi = module->map_end;
    unsigned count = 0;
    if (module->outside) {
        const struct kymo_cfi_image *images = module->outside->images;
        uint32_t n = 0;
        while (n < module->outside->image_count && address - images[n].address >= images[n].size)
            n++;
        if (n == module->outside->image_count)
            return false;
        *image = images[n];
        return true;
    }
    const Elf64_Phdr *phdr = program_headers(module, &count);
    if (phdr) {
        uint64_t bias = module->map_start;
        for (unsigned i = 0; i < count; i++)
            if (phdr[i].p_type == PT_LOAD && phdr[i].p_offset == 0)
                bias = module->map_start - phdr[i].p_vaddr;
        unsigned i = 0;
        while (i < count && (phdr[i].p_type != PT_LOAD || !(phdr[i].p_flags & PF_R) ||
                             address - bias - phdr[i].p_vaddr >= phdr[i].p_filesz))
            i++;
        if (i == count)
            return false;
        uint64_t begin = bias + phdr[i].p_vaddr;
        uint64_t end = begin + phdr[i].p_filesz;
        lo = begin > lo ? begin : lo;
        hi = end < hi ? end : hi;
    }
    if (address < lo || address >= hi)
        return false;
    if (hi - lo > INT32_MAX) { /* offsets are 32 bits: keep what lies around the address */
        uint64_t reach = INT32_MAX / 2;
        lo = address - lo > reach ? address - reach : lo;
        hi = hi - address > reach ? address + reach : hi;
    }
    *image = (struct kymo_cfi_image){
        .data = (const uint8_t *)(uintptr_t)lo, .size = hi - lo, .address = lo};
    return true;
}

/* Alone in its function, so that the cursor lies on the stack only while it runs. */
static KYMO_NOINLINE enum kymo_cfi_status seek_row(const struct kymo_cfi_image *image,
                                                   const struct kymo_cfi_fde *fde, uint64_t pc,
                                                   struct kymo_cfi_row *row)
{
    struct kymo_cfi_cursor cursor;
    enum kymo_cfi_status status = kymo_cfi_begin(&cursor, image, fde, BUDGET, row);
    if (status == KYMO_CFI_FOUND)
        status = kymo_cfi_seek(&cursor, pc);
    return status;
}

static KYMO_NOINLINE enum kymo_cfi_status find_fde(const struct kymo_unwind_module *module,
                                                   uint64_t pc, struct kymo_cfi_image *image,
                                                   struct kymo_cfi_fde *fde)
{
    struct kymo_cfi_index index;
    if (module->eh_frame_hdr == 0)
        return KYMO_CFI_NOT_FOUND;
    if (!is_readable(module, module->map_start) || !is_readable(module, module->eh_frame_hdr))
        return KYMO_CFI_BROKEN;
    if (!image_around(module, module->eh_frame_hdr, image) ||
        kymo_cfi_index_open(image, module->eh_frame_hdr, &index) != KYMO_CFI_FOUND)
        return KYMO_CFI_BROKEN;
    uint32_t i = kymo_cfi_index_search(&index, pc);
    if (i == index.count)
        return KYMO_CFI_NOT_FOUND;
    uint64_t address = kymo_cfi_index_fde(&index, i);
    if (address - image->address >= image->size && !image_around(module, address, image))
        return KYMO_CFI_BROKEN;
    if (!is_readable(module, address))
        return KYMO_CFI_BROKEN;
    enum kymo_cfi_status status = kymo_cfi_fde_read(image, address, fde);
    if (status == KYMO_CFI_FOUND && (pc < fde->pc_begin || pc >= fde->pc_end))
        status = KYMO_CFI_NOT_FOUND;
    return status;
}

enum kymo_cfi_status kymo_module_row(const struct kymo_unwind_module *module, uint64_t pc,
                                     uint64_t *word, struct kymo_cfi_row *row, bool *signal_frame,
                                     struct kymo_cfi_image *image)
{
    struct kymo_cfi_fde fde;
    struct kymo_row_slot *rows = module->outside ? module->outside->rows : NULL;
    const uint64_t set_mask = kymo_row_set_mask(KYMO_OUTSIDE_ROWS - 1);
    const uint64_t at = rows ? pc - module->outside->bias : 0;
    if (rows) {
        *word = kymo_row_cache_get(rows, set_mask, 0, at, 0);
        if (*word != KYMO_ROW_NONE)
            return KYMO_CFI_FOUND;
    }
    enum kymo_cfi_status status = find_fde(module, pc, image, &fde);
    if (status == KYMO_CFI_FOUND)
        status = seek_row(image, &fde, pc, row);
    if (status != KYMO_CFI_FOUND)
        return status;
    *signal_frame = fde.signal_frame;
    *word = kymo_row_pack(row, fde.signal_frame, image);
    if (rows && *word != KYMO_ROW_INTERPRET)
        kymo_row_cache_put(rows, set_mask, 0, at, 0, *word);
    return KYMO_CFI_FOUND;
}
