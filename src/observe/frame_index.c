/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/frame_index.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* What the head of the table says of how it is written (DW_EH_PE_*). */
enum { HERE_SIGNED_4 = 0x1b, UNSIGNED_4 = 0x03, HEAD_SIGNED_4 = 0x3b };
#define HEAD_BYTES 12u
#define LONG_LENGTH UINT32_MAX

struct entry {
    uint64_t pc, fde;
};

typedef KYMO_VEC(struct entry) entries;

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* One for each FDE; what is broken ends the section. */
static kymo_err find_entries(const struct kymo_cfi_image *image, entries *found)
{
    uint32_t length, cie;
    for (uint64_t at = 0; image->size - at >= sizeof length + sizeof cie; at += 4u + length) {
        memcpy(&length, image->data + at, sizeof length);
        memcpy(&cie, image->data + at + 4, sizeof cie);
        if (length < sizeof cie || length == LONG_LENGTH || length > image->size - at - 4)
            break;
        struct kymo_cfi_fde fde;
        if (cie == 0 || kymo_cfi_fde_read(image, image->address + at, &fde) != KYMO_CFI_FOUND ||
            fde.pc_end == fde.pc_begin)
            continue;
        KYMO_TRY(kymo_vec_push(found, ((struct entry){fde.pc_begin, image->address + at})));
    }
    if (found->len == 0)
        return KYMO_E_CORRUPT;
    qsort(found->data, found->len, sizeof *found->data, compare_entries);
    return KYMO_OK;
}

static void put(unsigned char *at, uint64_t value)
{
    const uint32_t low = (uint32_t)value;
    memcpy(at, &low, sizeof low);
}

/* Behind the section, whose room is large enough. Entries beyond 2 GiB are left out. */
static void write_table(const struct kymo_cfi_image *image, const entries *found, uint64_t hdr,
                        unsigned char *head, uint32_t *count)
{
    unsigned char *at = head + HEAD_BYTES;
    *count = 0;
    for (size_t i = 0; i < found->len; i++) {
        const int64_t pc = (int64_t)(found->data[i].pc - hdr);
        const int64_t fde = (int64_t)(found->data[i].fde - hdr);
        if (pc != (int32_t)pc || fde != (int32_t)fde)
            continue;
        put(at, (uint64_t)pc);
        put(at + 4, (uint64_t)fde);
        at += 8;
        (*count)++;
    }
    memcpy(head, (unsigned char[]){1, HERE_SIGNED_4, UNSIGNED_4, HEAD_SIGNED_4}, 4);
    put(head + 4, image->address - (hdr + 4));
    put(head + 8, *count);
}

static kymo_err make(const kymo_elf_section *section, kymo_span bytes, uint64_t bias,
                     struct kymo_cfi_image *image, uint64_t *hdr)
{
    entries found = {0};
    const struct kymo_cfi_image frames = {bytes.data, bytes.size, section->address + bias};
    kymo_err err = find_entries(&frames, &found);
    const size_t begin = (bytes.size + 7) & ~(size_t)7;
    unsigned char *data = err == KYMO_OK ? calloc(1, begin + HEAD_BYTES + 8 * found.len) : NULL;
    if (data) {
        uint32_t count;
        memcpy(data, bytes.data, bytes.size);
        *hdr = frames.address + begin;
        write_table(&frames, &found, *hdr, data + begin, &count);
        *image =
            (struct kymo_cfi_image){data, begin + HEAD_BYTES + 8 * (size_t)count, frames.address};
    } else if (err == KYMO_OK) {
        err = KYMO_E_NOMEM;
    }
    kymo_vec_deinit(&found);
    return err;
}

kymo_err kymo_frame_index_make(kymo_elf_file *file, uint64_t bias, uint64_t most,
                               struct kymo_cfi_image *image, uint64_t *hdr)
{
    kymo_span bytes;
    kymo_elf_section *section = kymo_elf_find(file, ".eh_frame");
    if (!section || !(section->flags & SHF_ALLOC)) /* what is not mapped is for no walk */
        return KYMO_E_NOT_FOUND;
    KYMO_TRY(kymo_elf_load_begin(file, section, &bytes));
    kymo_err err = kymo_elf_extent(section).size > most
                       ? KYMO_E_TOO_BIG
                       : kymo_elf_load_to(file, section, UINT64_MAX, &bytes);
    if (err == KYMO_OK)
        err = make(section, bytes, bias, image, hdr);
    kymo_elf_unload(section);
    return err;
}
