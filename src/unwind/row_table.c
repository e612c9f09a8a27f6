/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder of row tables. It visits the FDEs in the order of the file's search table and clips
 * each to the next one's beginning, so that every pc gets the row that a handler would find by
 * bisection.
 *
 * A file's entries may all point to one long FDE; the instructions run are bounded by a multiple of
 * the file's size, and so are rows and buckets.
 */
#include "unwind/row_table.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "arch/row.h"
#include "arch/system.h"
#include "base/hash.h"
#include "base/vec.h"
#include "unwind/cfi.h"

/* Instructions per byte of file that an honest one never needs: each FDE runs its own bytes once,
 * and its CIE's few instructions again. */
#define INSNS_PER_BYTE 8u
#define INSNS_LEAST 65536u
/* Text segments may be aligned to huge pages, so a small file's text may span more than the file.
 */
#define SPAN_BEYOND_FILE (64ull << 20)

struct builder {
    const uint8_t *elf;
    size_t elf_size;
    const Elf64_Phdr *phdr;
    unsigned phdrs;
    struct kymo_cfi_image image; /* of the last address asked for */
    uint64_t base;
    uint64_t end; /* of the last row */
    uint64_t insns_left;
    KYMO_VEC(uint64_t) rules;
    kymo_index rule_index;
    KYMO_VEC(struct kymo_row_table_row) rows;
    struct kymo_row_table_stats stats;
    kymo_error *detail;
};

static kymo_err corrupt(struct builder *b, uint64_t position, const char *what)
{
    return kymo_error_set(b->detail, KYMO_E_CORRUPT, position, "%s", what);
}

static kymo_err open_elf(struct builder *b)
{
    Elf64_Ehdr ehdr;
    if (b->elf_size < sizeof ehdr)
        return corrupt(b, 0, "not an ELF file: too short");
    memcpy(&ehdr, b->elf, sizeof ehdr);
    if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
        ehdr.e_ident[EI_DATA] != ELFDATA2LSB || ehdr.e_machine != KYMO_ELF_MACHINE)
        return corrupt(b, 0, "not an ELF file of " KYMO_ARCH_NAME);
    if (ehdr.e_phentsize != sizeof(Elf64_Phdr) || ehdr.e_phoff > b->elf_size ||
        ehdr.e_phoff % 8 != 0 || ehdr.e_phnum > (b->elf_size - ehdr.e_phoff) / sizeof(Elf64_Phdr))
        return corrupt(b, ehdr.e_phoff, "the program headers are not in the file");
    b->phdr = (const Elf64_Phdr *)(const void *)(b->elf + ehdr.e_phoff);
    b->phdrs = ehdr.e_phnum;
    return KYMO_OK;
}

/* Makes b->image the file's bytes around a virtual address. */
static bool find_image(struct builder *b, uint64_t address)
{
    if (address - b->image.address < b->image.size)
        return true;
    for (unsigned i = 0; i < b->phdrs; i++) {
        const Elf64_Phdr *p = &b->phdr[i];
        if (p->p_type != PT_LOAD || address - p->p_vaddr >= p->p_filesz ||
            p->p_offset > b->elf_size)
            continue;
        uint64_t size = b->elf_size - p->p_offset;
        uint64_t begin = 0;
        size = p->p_filesz < size ? p->p_filesz : size;
        if (address - p->p_vaddr >= size)
            return false;
        if (size > INT32_MAX) { /* offsets into an image are 32 bits */
            uint64_t at = address - p->p_vaddr;
            begin = at > INT32_MAX / 2 ? at - INT32_MAX / 2 : 0;
            size = size - begin > INT32_MAX ? INT32_MAX : size - begin;
        }
        b->image = (struct kymo_cfi_image){
            .data = b->elf + p->p_offset + begin, .size = size, .address = p->p_vaddr + begin};
        return true;
    }
    return false;
}

static kymo_err find_index(struct builder *b, struct kymo_cfi_index *index)
{
    for (unsigned i = 0; i < b->phdrs; i++) {
        if (b->phdr[i].p_type != PT_GNU_EH_FRAME)
            continue;
        if (!find_image(b, b->phdr[i].p_vaddr))
            return corrupt(b, b->phdr[i].p_offset, ".eh_frame_hdr is not in the file");
        if (kymo_cfi_index_open(&b->image, b->phdr[i].p_vaddr, index) == KYMO_CFI_FOUND &&
            index->count > 0)
            return KYMO_OK;
        return kymo_error_set(b->detail, KYMO_E_UNSUPPORTED, b->phdr[i].p_offset,
                              ".eh_frame_hdr has no search table that can be read");
    }
    return kymo_error_set(b->detail, KYMO_E_UNSUPPORTED, 0, "the file has no .eh_frame_hdr");
}

/* The number of a rule; new ones are added. */
static kymo_err intern_rule(struct builder *b, uint64_t word, uint32_t *number)
{
    uint64_t hash = kymo_hash_words(&word, 1, kymo_hash_secret());
    size_t probe = 0;
    while (kymo_index_find(&b->rule_index, hash, &probe, number))
        if (b->rules.data[*number] == word)
            return KYMO_OK;
    *number = (uint32_t)b->rules.len;
    KYMO_TRY(kymo_vec_push(&b->rules, word));
    return kymo_index_put(&b->rule_index, hash, *number);
}

/* From pc on, word holds. */
static kymo_err add_row(struct builder *b, uint64_t pc, uint64_t word)
{
    uint32_t offset = (uint32_t)(pc - b->base);
    struct kymo_row_table_row *last = b->rows.len ? &b->rows.data[b->rows.len - 1] : NULL;
    uint32_t rule;
    KYMO_TRY(intern_rule(b, word, &rule));
    if (last && last->offset == offset) {
        last->rule = rule;
        if (b->rows.len > 1 && last[-1].rule == rule)
            b->rows.len--;
        return KYMO_OK;
    }
    if (last && last->rule == rule)
        return KYMO_OK;
    b->stats.interpreted += word == KYMO_ROW_INTERPRET;
    return kymo_vec_push(&b->rows, ((struct kymo_row_table_row){offset, rule}));
}

/* The rows of fde that lie in [begin, end). */
static kymo_err add_fde(struct builder *b, const struct kymo_cfi_fde *fde, uint64_t begin,
                        uint64_t end)
{
    struct kymo_cfi_cursor cursor;
    struct kymo_cfi_row row;
    uint32_t budget = b->insns_left < UINT32_MAX ? (uint32_t)b->insns_left : UINT32_MAX;
    uint64_t pc = begin;
    enum kymo_cfi_status status = kymo_cfi_begin(&cursor, &b->image, fde, budget, &row);
    while (status == KYMO_CFI_FOUND && pc < end) {
        status = kymo_cfi_seek(&cursor, pc);
        if (status != KYMO_CFI_FOUND)
            break;
        KYMO_TRY(add_row(b, pc, kymo_row_pack(&row, fde->signal_frame, &b->image)));
        pc = cursor.end;
    }
    b->insns_left -= budget - cursor.budget;
    if (b->insns_left == 0)
        return corrupt(b, fde->insns, "the call frame instructions are repeated without end");
    if (status != KYMO_CFI_FOUND) { /* a handler may still get rows before the broken instruction */
        b->stats.broken++;
        return add_row(b, pc, KYMO_ROW_INTERPRET);
    }
    return KYMO_OK;
}

/* Adds entry i of the search table; next: where the following one begins. */
static kymo_err add_entry(struct builder *b, uint64_t fde_address, uint64_t pc, uint64_t next)
{
    struct kymo_cfi_fde fde;
    uint64_t begin = pc;
    uint64_t end = next;
    b->stats.fdes++;
    if (!find_image(b, fde_address) ||
        kymo_cfi_fde_read(&b->image, fde_address, &fde) != KYMO_CFI_FOUND) {
        b->stats.broken++;
        KYMO_TRY(add_row(b, pc, KYMO_ROW_INTERPRET));
        b->end = next != UINT64_MAX ? next : pc + 1;
        return KYMO_OK;
    }
    begin = fde.pc_begin > begin ? fde.pc_begin : begin;
    end = fde.pc_end < end ? fde.pc_end : end;
    if (begin > pc)
        KYMO_TRY(add_row(b, pc, KYMO_ROW_GAP));
    if (begin >= end)
        return KYMO_OK;
    if (end - b->base >= b->elf_size + SPAN_BEYOND_FILE || end - b->base >= UINT32_MAX)
        return kymo_error_set(b->detail, KYMO_E_TOO_BIG, 0, "the file's text spans too much");
    KYMO_TRY(add_fde(b, &fde, begin, end));
    b->end = end;
    if (end < next)
        KYMO_TRY(add_row(b, end, KYMO_ROW_GAP));
    return KYMO_OK;
}

static kymo_err add_all(struct builder *b, const struct kymo_cfi_index *index)
{
    uint32_t gap;
    KYMO_TRY(intern_rule(b, KYMO_ROW_GAP, &gap)); /* rule 0 */
    b->base = kymo_cfi_index_pc(index, 0) & ~255ull;
    b->end = b->base;
    b->insns_left = INSNS_LEAST + (uint64_t)b->elf_size * INSNS_PER_BYTE;
    KYMO_TRY(add_row(b, b->base, KYMO_ROW_GAP));
    for (uint32_t i = 0; i < index->count; i++) {
        uint64_t pc = kymo_cfi_index_pc(index, i);
        uint64_t next = i + 1 < index->count ? kymo_cfi_index_pc(index, i + 1) : UINT64_MAX;
        if (next < pc)
            return corrupt(b, 0, "the search table of .eh_frame_hdr is not sorted");
        if (pc - b->base >= b->elf_size + SPAN_BEYOND_FILE || pc - b->base >= UINT32_MAX)
            return kymo_error_set(b->detail, KYMO_E_TOO_BIG, 0, "the file's text spans too much");
        if (next > pc) /* of entries that begin alike, the last one counts */
            KYMO_TRY(add_entry(b, kymo_cfi_index_fde(index, i), pc, next));
    }
    return KYMO_OK;
}

static kymo_err write_padded(kymo_sink *sink, const void *data, size_t len)
{
    static const char zeros[8];
    KYMO_TRY(kymo_sink_write(sink, data, len));
    return len % 8 ? kymo_sink_write(sink, zeros, 8 - len % 8) : KYMO_OK;
}

static kymo_err write_buckets(struct builder *b, uint32_t buckets, kymo_sink *sink)
{
    KYMO_VEC(uint32_t) first = {0};
    size_t row = 0;
    kymo_err err = KYMO_OK;
    for (uint64_t i = 0; i <= buckets && err == KYMO_OK; i++) {
        while (row < b->rows.len && b->rows.data[row].offset < 256 * i)
            row++;
        err = kymo_vec_push(&first, (uint32_t)row);
    }
    if (err == KYMO_OK)
        err = write_padded(sink, first.data, 4 * first.len);
    kymo_vec_deinit(&first);
    return err;
}

static kymo_err write_table(struct builder *b, kymo_sink *sink)
{
    uint32_t text_size = (uint32_t)(b->end - b->base);
    struct kymo_row_table_header header = {
        .magic = KYMO_ROW_TABLE_MAGIC,
        .base_vaddr = b->base,
        .rules = (uint32_t)b->rules.len,
        .buckets = text_size / 256 + 1,
        .rows = (uint32_t)b->rows.len,
        .text_size = text_size,
    };
    uint64_t buckets_bytes = (4 * ((uint64_t)header.buckets + 1) + 7) & ~7ull;
    header.size = sizeof header + 8 * (uint64_t)header.rules + buckets_bytes +
                  sizeof(struct kymo_row_table_row) * (uint64_t)header.rows;
    b->stats.rows = header.rows;
    b->stats.rules = header.rules;
    b->stats.size_bytes = header.size;
    KYMO_TRY(kymo_sink_write(sink, &header, sizeof header));
    KYMO_TRY(kymo_sink_write(sink, b->rules.data, 8 * b->rules.len));
    KYMO_TRY(write_buckets(b, header.buckets, sink));
    return kymo_sink_write(sink, b->rows.data, sizeof(struct kymo_row_table_row) * b->rows.len);
}

kymo_err kymo_row_table_build(const void *elf, size_t elf_size, kymo_sink *sink,
                              struct kymo_row_table_stats *stats, kymo_error *detail)
{
    struct builder b = {.elf = elf, .elf_size = elf_size, .detail = detail};
    struct kymo_cfi_index index;
    kymo_err err = open_elf(&b);
    if (err == KYMO_OK)
        err = find_index(&b, &index);
    if (err == KYMO_OK)
        err = add_all(&b, &index);
    if (err == KYMO_OK)
        err = write_table(&b, sink);
    if (err == KYMO_OK && stats)
        *stats = b.stats;
    kymo_vec_deinit(&b.rules);
    kymo_vec_deinit(&b.rows);
    kymo_index_deinit(&b.rule_index);
    return err;
}
