/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row.h - a row in one 64-bit word: what the pc cache and the row tables hold.
 *
 * Layer:    arch
 * Flow:     cfi.c -> [pack] -> pc cache, row table -> unwind.c
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 *
 *   bits 0-2    kind
 *   bits 3-6    register that the CFA counts from, or what kind of SPECIAL
 *   bit  7      saved registers lie below rbp and not below the CFA
 *   bits 8-43   six saved registers, 6 bits each, in the order of KYMO_SLOT_*: 0: the caller's
 *               value is still in the register; k: saved at CFA - 8 k, or at rbp + 8 - 8 k
 *   bits 44-63  SP, FP, REGISTER: CFA = register + (signed 20 bits), a multiple of 8
 *               DEREF: CFA = *(register + 8 * (upper 12 bits)) + 8 * (lower 8 bits), both signed
 *               PLT: CFA = rsp + 8 + (pc % 16 >= value ? 8 : 0)
 *
 * The return address lies at CFA - 8 in all of them. The offset has the top of the word and is in
 * bytes, since it is on the critical path of a walk, where one shift is enough. The most frequent
 * kind is 0 and known by one test; that 0 as a whole means no row is no contradiction, since packed
 * rows of that kind have the number of rsp in bits 3-6, or an offset.
 */
#ifndef KYMO_ARCH_ROW_H
#define KYMO_ARCH_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"
#include "base/attr.h"
#include "unwind/cfi.h"
#include "unwind/stack_window.h"

enum {
    KYMO_ROW_KIND_SP,
    KYMO_ROW_KIND_FP,
    KYMO_ROW_KIND_REGISTER,
    KYMO_ROW_KIND_DEREF,
    KYMO_ROW_KIND_END,    /* the return address is undefined: the outermost frame */
    KYMO_ROW_KIND_SIGNAL, /* the kernel's frame of a handler: all registers lie in its ucontext */
    KYMO_ROW_KIND_SPECIAL,
};

enum {
    KYMO_ROW_SPECIAL_GAP,       /* the module says nothing about this pc */
    KYMO_ROW_SPECIAL_INTERPRET, /* does not fit in a word: ask .eh_frame each time */
    KYMO_ROW_SPECIAL_PLT,
};

/* An empty cache slot; a table that does not cover the pc. Its kind is to be asked for after it. */
#define KYMO_ROW_NONE 0ull
#define KYMO_ROW_END ((uint64_t)KYMO_ROW_KIND_END)
#define KYMO_ROW_SIGNAL ((uint64_t)KYMO_ROW_KIND_SIGNAL)
#define KYMO_ROW_GAP (KYMO_ROW_KIND_SPECIAL | (uint64_t)KYMO_ROW_SPECIAL_GAP << 3)
#define KYMO_ROW_INTERPRET (KYMO_ROW_KIND_SPECIAL | (uint64_t)KYMO_ROW_SPECIAL_INTERPRET << 3)

#define KYMO_ROW_SAVE_SHIFT 8u
#define KYMO_ROW_SAVE_BITS 6u
#define KYMO_ROW_SAVE_MAX 63u

static inline unsigned kymo_row_kind(uint64_t row)
{
    return (unsigned)(row & 7);
}
static inline unsigned kymo_row_register(uint64_t row)
{
    return (unsigned)(row >> 3 & 15);
}
static inline bool kymo_row_saves_below_fp(uint64_t row)
{
    return row >> 7 & 1;
}
/* How the register of this slot (below KYMO_SLOTS_SAVED) is saved: see above. */
static inline unsigned kymo_row_save(uint64_t row, unsigned slot)
{
    return (unsigned)(row >> (KYMO_ROW_SAVE_SHIFT + KYMO_ROW_SAVE_BITS * slot)) & 63;
}
/* Bytes to add to the register of an SP, FP or REGISTER row. */
static inline uint64_t kymo_row_offset(uint64_t row)
{
    return (uint64_t)((int64_t)row >> 44);
}
static inline uint64_t kymo_row_deref_at(uint64_t row)
{
    return (uint64_t)((int64_t)row >> 49) & ~(uint64_t)7;
}
static inline uint64_t kymo_row_deref_add(uint64_t row)
{
    return (uint64_t)((int64_t)(row << 12) >> 53) & ~(uint64_t)7;
}

/* How far below the CFA the return address lies. */
static inline uint64_t kymo_row_return_at(uint64_t row)
{
    (void)row;
    return 8;
}
/* What saved registers are counted down from in a row that saves them below the frame pointer. */
static inline uint64_t kymo_row_saves_from(uint64_t fp)
{
    return fp + 8;
}

/* Packs a row; KYMO_ROW_INTERPRET for one that does not fit. signal_frame: as the FDE says. */
KYMO_SIGNAL_SAFE uint64_t kymo_row_pack(const struct kymo_cfi_row *row, bool signal_frame,
                                        const struct kymo_cfi_image *image);

/* A row of any bits, from a table that may be corrupt, as one that pack could have made in what the
 * fast path of a walk relies on: offsets are multiples of 8. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_row_sanitize(uint64_t row)
{
    return kymo_row_kind(row) <= KYMO_ROW_KIND_REGISTER ? row & ~(7ull << 44) : row;
}

/* A PLT row at this pc as an SP row; any other row as it is. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_row_at_pc(uint64_t row, uint64_t pc)
{
    if (kymo_row_kind(row) != KYMO_ROW_KIND_SPECIAL ||
        kymo_row_register(row) != KYMO_ROW_SPECIAL_PLT)
        return row;
    uint64_t bytes = (pc & 15) >= row >> 44 ? 16 : 8;
    return bytes << 44 | KYMO_ROW_KIND_SP;
}

/* Moves *ip, *sp and *fp to the caller's by a row of the most common shapes; false, and nothing has
 * changed, for any other row, KYMO_ROW_NONE included. sp is aligned; what is read lies in [lo, hi),
 * whose lo is above the first page. */
KYMO_SIGNAL_SAFE static inline __attribute__((always_inline)) bool kymo_row_step(
    uint64_t row, uint64_t lo, uint64_t hi, uint64_t *ip, uint64_t *sp, uint64_t *fp)
{
    /* Kind SP or FP, saved registers below the CFA: the low bits but for the register. A branch and
     * no selection: so the next return address is loaded before the kind is known. */
    uint64_t shape = row & 0x87;
    uint64_t cfa;
    if (kymo_likely(shape == KYMO_ROW_KIND_SP)) {
        cfa = *sp + kymo_row_offset(row); /* both are aligned */
    } else {
        cfa = *fp + kymo_row_offset(row);
        if (shape != KYMO_ROW_KIND_FP || (cfa & 7))
            return false;
    }
    if (kymo_unlikely(cfa <= *sp))
        return false;
    if (kymo_unlikely(cfa > hi))
        return false;
    uint64_t save = kymo_row_save(row, KYMO_SLOT_FP);
    if (save) {
        uint64_t at = cfa - 8 * save; /* no underflow: cfa is above lo */
        if (kymo_unlikely(at < lo))
            return false;
        *fp = kymo_window_read(at);
    }
    *ip = kymo_window_read(cfa - 8);
    *sp = cfa;
    return true;
}

#endif
