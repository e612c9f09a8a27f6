/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers.h - the registers of x86-64: their DWARF numbers, and which of them a walk follows.
 *
 * Layer:    arch
 * Flow:     [registers] -> cfi.h, row.h, unwind.c; record.h, wall_find.c
 * Threads:  any
 * Memory:   none
 * Signals:  everything is safe
 */
#ifndef KYMO_ARCH_REGISTERS_H
#define KYMO_ARCH_REGISTERS_H

#include <stdint.h>

#include "base/attr.h"

#if !defined(__x86_64__)
#error "src/arch/x86_64 is for x86-64; KYMO_ARCH chooses the folder"
#endif

/* DWARF numbers of the System V ABI. FP is the frame pointer of functions that keep one. */
enum {
    KYMO_REG_RBX = 3,
    KYMO_REG_FP = 6,
    KYMO_REG_SP = 7,
    KYMO_REG_R12 = 12,
    KYMO_REG_R13 = 13,
    KYMO_REG_R14 = 14,
    KYMO_REG_R15 = 15,
    KYMO_REG_COUNT = 16, /* those that struct kymo_regs has */
    KYMO_REG_RA = 16,    /* the column of the return address */
    KYMO_REG_PC = 16,    /* what expressions call the pc */
};

struct kymo_regs {
    uint64_t ip;
    uint64_t gpr[KYMO_REG_COUNT]; /* by DWARF number */
};

/* Masks of registers: all of them, and those that a callee leaves as they were. */
#define KYMO_REGS_ALL 0xffffu
#define KYMO_REGS_ACROSS_CALLS                                                         \
    (1u << KYMO_REG_SP | 1u << KYMO_REG_FP | 1u << KYMO_REG_RBX | 1u << KYMO_REG_R12 | \
     1u << KYMO_REG_R13 | 1u << KYMO_REG_R14 | 1u << KYMO_REG_R15)

/* The slots of a row of unwind information: the registers whose rules are kept. First those that a
 * callee saves, FP before the others, then the stack pointer and the return address. */
enum {
    KYMO_SLOT_FP,
    KYMO_SLOT_RBX,
    KYMO_SLOT_R12,
    KYMO_SLOT_R13,
    KYMO_SLOT_R14,
    KYMO_SLOT_R15,
    KYMO_SLOTS_SAVED,
    KYMO_SLOT_SP = KYMO_SLOTS_SAVED,
    KYMO_SLOT_RA,
    KYMO_SLOT_COUNT
};

static const uint8_t kymo_slot_register[KYMO_SLOT_COUNT] = {
    [KYMO_SLOT_FP] = KYMO_REG_FP,   [KYMO_SLOT_RBX] = KYMO_REG_RBX, [KYMO_SLOT_R12] = KYMO_REG_R12,
    [KYMO_SLOT_R13] = KYMO_REG_R13, [KYMO_SLOT_R14] = KYMO_REG_R14, [KYMO_SLOT_R15] = KYMO_REG_R15,
    [KYMO_SLOT_SP] = KYMO_REG_SP,   [KYMO_SLOT_RA] = KYMO_REG_RA,
};

/* The slot of a register number, -1 if its rule is not kept. */
KYMO_SIGNAL_SAFE static inline int kymo_slot_of(uint64_t reg)
{
    static const int8_t slot_plus_1[17] = {
        [KYMO_REG_RBX] = KYMO_SLOT_RBX + 1, [KYMO_REG_FP] = KYMO_SLOT_FP + 1,
        [KYMO_REG_SP] = KYMO_SLOT_SP + 1,   [KYMO_REG_R12] = KYMO_SLOT_R12 + 1,
        [KYMO_REG_R13] = KYMO_SLOT_R13 + 1, [KYMO_REG_R14] = KYMO_SLOT_R14 + 1,
        [KYMO_REG_R15] = KYMO_SLOT_R15 + 1, [KYMO_REG_RA] = KYMO_SLOT_RA + 1};
    return reg < 17 ? slot_plus_1[reg] - 1 : -1;
}

#endif
