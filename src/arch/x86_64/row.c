/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing recognizes the few shapes that compilers, linkers and hand-written assembly give to a
 * row; see reference "What had to be added for 100 %". Whatever is not exactly one of them is
 * interpreted.
 */
#include "arch/row.h"

#include <string.h>

enum { OP_DEREF = 0x06, OP_PLUS_UCONST = 0x23, OP_LIT0 = 0x30, OP_BREG0 = 0x70 };

static bool fits(int64_t value, unsigned bits)
{
    int64_t limit = (int64_t)1 << (bits - 1);
    return value >= -limit && value < limit;
}

/* breg N: offset and nothing else; false for any other expression. */
static bool register_expression(kymo_reader s, unsigned *reg, int64_t *offset)
{
    uint8_t op = kymo_read_u8(&s);
    *reg = (unsigned)(op - OP_BREG0);
    *offset = kymo_read_sleb(&s);
    return !s.failed && s.at == s.end && op >= OP_BREG0 && op < OP_BREG0 + 16;
}

/* *(register + at) + add */
static bool deref_expression(kymo_reader s, unsigned *reg, int64_t *at, int64_t *add)
{
    uint8_t op = kymo_read_u8(&s);
    *reg = (unsigned)(op - OP_BREG0);
    *at = kymo_read_sleb(&s);
    *add = 0;
    if (s.failed || op < OP_BREG0 || op >= OP_BREG0 + 16 || kymo_read_u8(&s) != OP_DEREF)
        return false;
    if (s.at < s.end) {
        uint64_t constant = kymo_read_u8(&s) == OP_PLUS_UCONST ? kymo_read_uleb(&s) : UINT64_MAX;
        if (s.failed || constant > INT32_MAX)
            return false;
        *add = (int64_t)constant;
    }
    return s.at == s.end;
}

/* rsp + 8 + ((pc & 15) >= N ? 8 : 0), as binutils writes it for .plt; N is 0 if it is not that. */
static unsigned plt_expression(kymo_reader s)
{
    static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
    static const uint8_t tail[] = {0x2a, 0x33, 0x24, 0x22};
    if (kymo_reader_left(&s) != sizeof head + 1 + sizeof tail ||
        memcmp(s.at, head, sizeof head) != 0 || memcmp(s.at + 7, tail, sizeof tail) != 0)
        return 0;
    unsigned literal = (unsigned)(s.at[6] - OP_LIT0);
    return literal < 16 ? literal : 0;
}

/* Adds the six saved registers to *word; false if they do not fit. */
static bool pack_saves(const struct kymo_cfi_row *row, const struct kymo_cfi_image *image,
                       uint64_t *word)
{
    bool below_cfa = false;
    bool below_rbp = false;
    for (unsigned slot = 0; slot < KYMO_SLOTS_SAVED; slot++) {
        int64_t offset = row->value[slot];
        int64_t k;
        unsigned reg;
        switch (row->rule[slot]) {
        case KYMO_RULE_SAME:
            continue;
        case KYMO_RULE_AT_EXPR:
            if (!register_expression(kymo_cfi_expression(image, row->value[slot]), &reg, &offset) ||
                reg != KYMO_REG_FP)
                return false;
            below_rbp = true;
            k = 1 - offset / 8;
            break;
        case KYMO_RULE_AT_CFA:
            below_cfa = true;
            k = -offset / 8;
            break;
        default:
            return false;
        }
        if (offset % 8 != 0 || k < 1 || k > (int64_t)KYMO_ROW_SAVE_MAX)
            return false;
        *word |= (uint64_t)k << (KYMO_ROW_SAVE_SHIFT + KYMO_ROW_SAVE_BITS * slot);
    }
    if (below_rbp)
        *word |= 1u << 7;
    return !(below_cfa && below_rbp);
}

static bool pack_cfa(const struct kymo_cfi_row *row, const struct kymo_cfi_image *image,
                     uint64_t *word)
{
    unsigned reg;
    int64_t at;
    int64_t add;
    if (row->cfa_kind == KYMO_CFA_REGISTER) {
        int64_t offset = row->cfa_value;
        if (offset % 8 != 0 || !fits(offset, 20))
            return false;
        reg = row->cfa_register;
        *word |= (uint64_t)offset << 44 | (uint64_t)reg << 3 |
                 (reg == KYMO_REG_SP   ? KYMO_ROW_KIND_SP
                  : reg == KYMO_REG_FP ? KYMO_ROW_KIND_FP
                                       : KYMO_ROW_KIND_REGISTER);
        return true;
    }
    if (row->cfa_kind != KYMO_CFA_EXPR)
        return false;
    kymo_reader expression = kymo_cfi_expression(image, row->cfa_value);
    if (deref_expression(expression, &reg, &at, &add)) {
        if (at % 8 != 0 || add % 8 != 0 || !fits(at / 8, 12) || !fits(add / 8, 8))
            return false;
        *word |= (uint64_t)(at / 8) << 52 | ((uint64_t)(add / 8) & 0xff) << 44 |
                 (uint64_t)reg << 3 | KYMO_ROW_KIND_DEREF;
        return true;
    }
    unsigned literal = plt_expression(expression);
    if (literal == 0)
        return false;
    *word |= (uint64_t)literal << 44 | (uint64_t)KYMO_ROW_SPECIAL_PLT << 3 | KYMO_ROW_KIND_SPECIAL;
    return true;
}

/* The C library's return from a handler: rsp points to the ucontext, in which rsp lies at 160. */
static bool is_signal_trampoline(const struct kymo_cfi_row *row, const struct kymo_cfi_image *image)
{
    unsigned reg;
    int64_t at;
    int64_t add;
    return row->cfa_kind == KYMO_CFA_EXPR &&
           deref_expression(kymo_cfi_expression(image, row->cfa_value), &reg, &at, &add) &&
           reg == KYMO_REG_SP && at == 160 && add == 0;
}

uint64_t kymo_row_pack(const struct kymo_cfi_row *row, bool signal_frame,
                       const struct kymo_cfi_image *image)
{
    if (signal_frame)
        return is_signal_trampoline(row, image) ? KYMO_ROW_SIGNAL : KYMO_ROW_INTERPRET;
    if (row->rule[KYMO_SLOT_RA] == KYMO_RULE_UNDEFINED)
        return KYMO_ROW_END;
    uint64_t word = 0;
    if (row->rule[KYMO_SLOT_RA] != KYMO_RULE_AT_CFA || row->value[KYMO_SLOT_RA] != -8 ||
        row->rule[KYMO_SLOT_SP] != KYMO_RULE_SAME || !pack_cfa(row, image, &word) ||
        !pack_saves(row, image, &word))
        return KYMO_ROW_INTERPRET;
    return word;
}
