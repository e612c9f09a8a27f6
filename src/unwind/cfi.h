/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.h - reads .eh_frame_hdr and .eh_frame: finds the entry (FDE) of a pc and runs its call frame
 * instructions, row by row.
 *
 * Layer:    unwind; above base
 * Flow:     a module in memory, inside a handler (unwind.c), or an ELF file in the recorder
 *           (row_table.c) -> [cfi] -> rows
 * Threads:  any; all state is the caller's
 * Memory:   the caller's; nothing is allocated
 * Signals:  safe
 *
 * The input may be hostile: every read is within the image, and the work is bounded by `budget`.
 * Format: Linux Standard Base Core, "DWARF Extensions", and DWARF 5 §6.4.
 */
#ifndef KYMO_UNWIND_CFI_H
#define KYMO_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"
#include "base/attr.h"
#include "base/reader.h"

/* Bytes, and the address of the first one in the space that the encoded pointers live in: the same
 * as data in a running program, a virtual address in a file. Offsets into it are 32 bits. */
struct kymo_cfi_image {
    const uint8_t *data;
    uint64_t size; /* at most INT32_MAX */
    uint64_t address;
};

enum {
    KYMO_RULE_SAME,       /* the caller's value is still in the register */
    KYMO_RULE_UNDEFINED,  /* lost; for the return address: there is no caller */
    KYMO_RULE_AT_CFA,     /* saved at CFA + value */
    KYMO_RULE_CFA_PLUS,   /* is CFA + value */
    KYMO_RULE_REGISTER,   /* is in register number value */
    KYMO_RULE_AT_EXPR,    /* saved at the address that an expression gives; value: image offset of
                           * its length */
    KYMO_RULE_EXPR,       /* is what an expression gives */
    KYMO_RULE_UNSUPPORTED /* does not fit what is above */
};

enum { KYMO_CFA_UNSET, KYMO_CFA_REGISTER, KYMO_CFA_EXPR, KYMO_CFA_UNSUPPORTED };

/* The rules of the registers that arch/registers.h has slots for. */
struct kymo_cfi_row {
    uint8_t rule[KYMO_SLOT_COUNT];
    int32_t value[KYMO_SLOT_COUNT];
    uint8_t cfa_kind;
    uint8_t cfa_register;
    int32_t cfa_value; /* offset, or image offset of the expression's length */
};

enum kymo_cfi_status {
    KYMO_CFI_FOUND,
    KYMO_CFI_NOT_FOUND, /* nothing is said about this pc */
    KYMO_CFI_BROKEN,    /* the information is corrupt or uses what is not supported */
};

struct kymo_cfi_fde {
    uint64_t pc_begin;
    uint64_t pc_end;
    uint32_t cie_insns; /* image offsets */
    uint32_t cie_insns_end;
    uint32_t insns;
    uint32_t insns_end;
    uint32_t code_align;
    int32_t data_align;
    uint8_t pointer_encoding;
    bool signal_frame; /* the caller was interrupted, not calling: look its pc up as it is */
};

#define KYMO_CFI_STATES 2 /* DW_CFA_remember_state within each other; compilers use 1 */

struct kymo_cfi_cursor {
    const struct kymo_cfi_image *image;
    const struct kymo_cfi_fde *fde;
    uint64_t begin; /* the row holds for [begin, end) */
    uint64_t end;
    uint32_t at;     /* image offset of the next instruction */
    uint32_t budget; /* instructions that may still be run */
    uint32_t states;
    struct kymo_cfi_row *row;
    struct kymo_cfi_row initial; /* as the CIE leaves it */
    struct kymo_cfi_row state[KYMO_CFI_STATES];
};

/* The search table behind a .eh_frame_hdr. */
struct kymo_cfi_index {
    const uint8_t *table; /* pairs of int32_t: pc and FDE, from hdr_address */
    uint64_t hdr_address;
    uint32_t count;
};

/* Reads the head of the .eh_frame_hdr at hdr_address, which must lie in the image. BROKEN: no
 * search table, or one of an encoding other than sdata4 from the header (all linkers write this
 * one). */
KYMO_SIGNAL_SAFE enum kymo_cfi_status kymo_cfi_index_open(const struct kymo_cfi_image *image,
                                                          uint64_t hdr_address,
                                                          struct kymo_cfi_index *index);

KYMO_SIGNAL_SAFE static inline uint64_t kymo_cfi_index_pc(const struct kymo_cfi_index *index,
                                                          uint32_t i)
{
    int32_t offset;
    __builtin_memcpy(&offset, index->table + 8 * (size_t)i, 4);
    return index->hdr_address + (uint64_t)(int64_t)offset;
}

KYMO_SIGNAL_SAFE static inline uint64_t kymo_cfi_index_fde(const struct kymo_cfi_index *index,
                                                           uint32_t i)
{
    int32_t offset;
    __builtin_memcpy(&offset, index->table + 8 * (size_t)i + 4, 4);
    return index->hdr_address + (uint64_t)(int64_t)offset;
}

/* The entry that begins last at or before pc: its position, or count if all begin after it. */
KYMO_SIGNAL_SAFE uint32_t kymo_cfi_index_search(const struct kymo_cfi_index *index, uint64_t pc);

/* Reads the FDE at this address, and its CIE; both must lie in the image. */
KYMO_SIGNAL_SAFE enum kymo_cfi_status kymo_cfi_fde_read(const struct kymo_cfi_image *image,
                                                        uint64_t address, struct kymo_cfi_fde *fde);

/* Puts the cursor before the first row of fde. image, fde and row, which is where the rows will
 * appear, must outlive the cursor. */
KYMO_SIGNAL_SAFE enum kymo_cfi_status kymo_cfi_begin(struct kymo_cfi_cursor *cursor,
                                                     const struct kymo_cfi_image *image,
                                                     const struct kymo_cfi_fde *fde,
                                                     uint32_t budget, struct kymo_cfi_row *row);

/* Moves forward to the row that holds at pc (at or after cursor->end), and leaves it in *row, begin
 * and end. To visit all rows, seek cursor->end again and again. NOT_FOUND: pc is not before the
 * end of the FDE. */
KYMO_SIGNAL_SAFE enum kymo_cfi_status kymo_cfi_seek(struct kymo_cfi_cursor *cursor, uint64_t pc);

/* The bytes of the expression whose length lies at this image offset; an empty span if broken. */
KYMO_SIGNAL_SAFE kymo_reader kymo_cfi_expression(const struct kymo_cfi_image *image,
                                                 int32_t offset);

#endif
