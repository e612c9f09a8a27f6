/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eh_functions.c - see eh_functions.h.
 *
 * Linkers write the table as pairs of 4-byte offsets from the header (DW_EH_PE_datarel | sdata4).
 * Compilers write the start of a function as a 4-byte offset from its own position (pcrel |
 * sdata4), followed by a 4-byte size. Anything else is ignored: the size is used only if the start
 * next to it is the one in the table.
 */
#include "symbolize/eh_functions.h"

#include <string.h>

#include "base/search.h"
#include "symbolize/elf_file.h"

#define HEADER_BYTES 12u
#define ROW_BYTES 8u
#define PCREL_SDATA4 0x1b
#define DATAREL_SDATA4 0x3b
#define UDATA4 0x03
/* Fields of a description: its length, its CIE, the start, the size. */
#define START_AT 8u
#define SIZE_AT 12u
#define FDE_BYTES 16u

static int32_t read_i32(const unsigned char *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t read_u32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

kymo_err kymo_eh_functions_open(kymo_elf_file *file, kymo_eh_functions *out)
{
    kymo_elf_section *header = kymo_elf_find(file, ".eh_frame_hdr");
    kymo_elf_section *frame = kymo_elf_find(file, ".eh_frame");
    kymo_span table, content;
    *out = (kymo_eh_functions){0};
    if (!header || !frame)
        return KYMO_OK;
    kymo_err err = kymo_elf_load(file, header, &table);
    if (err == KYMO_OK)
        err = kymo_elf_load(file, frame, &content);
    if (err != KYMO_OK)
        return err == KYMO_E_NOMEM ? err : KYMO_OK;
    if (table.size < HEADER_BYTES || table.data[0] != 1 || table.data[1] != PCREL_SDATA4 ||
        table.data[2] != UDATA4 || table.data[3] != DATAREL_SDATA4)
        return KYMO_OK;
    uint64_t count = read_u32(table.data + 8);
    if (count > (table.size - HEADER_BYTES) / ROW_BYTES)
        return KYMO_OK;
    *out = (kymo_eh_functions){.rows = {table.data + HEADER_BYTES, (size_t)count * ROW_BYTES},
                               .frame = content,
                               .header_address = header->address,
                               .frame_address = frame->address};
    return KYMO_OK;
}

/* An address given as an offset in the header. */
static uint64_t at_distance(const kymo_eh_functions *f, size_t row, size_t field)
{
    return f->header_address + (uint64_t)(int64_t)read_i32(f->rows.data + row * ROW_BYTES + field);
}

bool kymo_eh_functions_find(const kymo_eh_functions *f, uint64_t address, uint64_t *start,
                            uint64_t *size)
{
    size_t n = KYMO_COUNT_WHERE(i, f->rows.size / ROW_BYTES, at_distance(f, i, 0) <= address);
    if (n == 0)
        return false;
    uint64_t begin = at_distance(f, n - 1, 0);
    uint64_t at = at_distance(f, n - 1, 4) - f->frame_address;
    if (at >= f->frame.size || f->frame.size - at < FDE_BYTES)
        return false;
    const unsigned char *fde = f->frame.data + at;
    uint64_t told = f->frame_address + at + START_AT + (uint64_t)(int64_t)read_i32(fde + START_AT);
    if (told != begin || address < begin || address - begin >= read_u32(fde + SIZE_AT))
        return false;
    *start = begin;
    *size = read_u32(fde + SIZE_AT);
    return true;
}
