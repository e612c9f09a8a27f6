/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instruction.h - takes an x86-64 instruction apart, as far as its length and its operands go.
 *
 * Layer:    arch; within it only
 * Flow:     bytes at a pc -> [instruction] -> code_row.c
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and
 * appendix A; AMD64 Architecture Programmer's Manual, volume 3 (XOP, 3DNow!).
 */
#ifndef KYMO_ARCH_INSTRUCTION_H
#define KYMO_ARCH_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

#define KYMO_INSTRUCTION_MAX 15u /* bytes; more is a fault */
/* That may be read: what follows the prefixes is, however many these are. */
#define KYMO_INSTRUCTION_BYTES 32u

enum kymo_opcode_map {
    KYMO_MAP_ONE_BYTE,
    KYMO_MAP_0F,
    KYMO_MAP_OTHER, /* 0F 38, 0F 3A, and all with a VEX, EVEX or XOP prefix, by which nobody moves a
                     * stack */
};

struct kymo_instruction {
    uint8_t length;
    uint8_t map; /* enum kymo_opcode_map */
    uint8_t opcode;
    bool is_wide;  /* REX.W */
    bool is_short; /* 66 */
    bool has_modrm;
    uint8_t mod; /* of the ModRM byte: 3: rm is a register */
    uint8_t reg; /* 0 to 15, by the processor's numbers; its low three bits may extend the opcode */
    uint8_t rm;  /* the same; without a ModRM byte the register that the opcode's low bits name */
    bool is_plain;   /* the operand in memory is register rm and displacement, nothing else */
    bool is_from_pc; /* the same from the next instruction's address */
    int32_t displacement;
    int32_t immediate; /* of at most four bytes, sign-extended; 0: none, or a longer one */
};

/* Reads the instruction that these bytes begin with. False: they begin with none that is known. */
KYMO_SIGNAL_SAFE bool kymo_instruction_read(const uint8_t bytes[KYMO_INSTRUCTION_BYTES],
                                            struct kymo_instruction *out);

#endif
