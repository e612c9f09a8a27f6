/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine_code.h - what the bytes of instructions say about calls, frames and stubs.
 *
 * Layer:    arch
 * Flow:     bytes at a pc -> [machine_code] -> unwind.c, padding.c, frame_base.c, elf_plt.c
 * Threads:  any
 * Memory:   none
 * Signals:  what is inline is safe; the rest is for the recorder
 *
 * The bytes may be anything. An answer is a guess that the caller checks by other means.
 */
#ifndef KYMO_ARCH_MACHINE_CODE_H
#define KYMO_ARCH_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"

/* ---- for walks ---- */

#define KYMO_CALL_BYTES 8u /* that are looked at in front of a return address */

/* Does a call through a pointer (FF /2: of 2 to 4, 6 or 7 bytes) end with these bytes? */
static inline bool kymo_ends_with_indirect_call(const uint8_t before[KYMO_CALL_BYTES])
{
    for (unsigned length = 2; length <= 7; length++)
        if (before[8 - length] == 0xff && (before[9 - length] & 0x38) == 0x10 && length != 5)
            return true;
    return false;
}

/* Does any call (E8 with its distance, or one through a pointer)? */
static inline bool kymo_ends_with_call(const uint8_t before[KYMO_CALL_BYTES])
{
    return before[8 - 5] == 0xe8 || kymo_ends_with_indirect_call(before);
}

/* Of the eight bytes that a call returns to: how many bytes of stack the function still has below
 * its own return address, if it gives them back and returns at once (add $N,%rsp; ret); 0: it does
 * something else. */
static inline uint64_t kymo_frame_of_return(uint64_t word)
{
    uint64_t bytes = word >> 24 & 0xff;
    return (word & 0xff00ffffff) == 0xc300c48348 && bytes % 8 == 0 && bytes < 0x80 ? bytes : 0;
}

/* The length of the nop that these bytes begin with, 0: it is none. Those that assemblers write. */
static inline unsigned kymo_nop_length(const uint8_t code[16])
{
    enum { PREFIXES_MAX = 10, OPERAND_SIZE = 0x66, SEGMENT_CS = 0x2e };
    unsigned prefixes = 0;
    while (prefixes < PREFIXES_MAX &&
           (code[prefixes] == OPERAND_SIZE || code[prefixes] == SEGMENT_CS))
        prefixes++;
    const uint8_t *op = code + prefixes;
    if (op[0] == 0x90)
        return prefixes + 1;
    if (op[0] != 0x0f || op[1] != 0x1f)
        return 0;
    switch (op[2]) { /* the operand that is not read: a register, a byte or a word behind it */
    case 0x00:
        return prefixes + 3;
    case 0x40:
        return prefixes + 4;
    case 0x44:
        return prefixes + 5;
    case 0x80:
        return prefixes + 7;
    case 0x84:
        return prefixes + 8;
    default:
        return 0;
    }
}

/* ---- machine_code.c: for the recorder, and for symbols ---- */

/* Of the first instructions of a function that saves that many registers besides the frame pointer:
 * how far the frame pointer lies above the stack pointer at the function's calls. Returns 0 if they
 * set no frame pointer. */
int kymo_frame_distance(const unsigned char *code, size_t size, uint32_t saved, uint64_t *distance);

/* What the instruction in front of a return address calls. */
enum kymo_call_kind {
    KYMO_CALL_NONE,    /* it is no call */
    KYMO_CALL_DIRECT,  /* *value: the function's address */
    KYMO_CALL_SLOT,    /* *value: where the function's address is */
    KYMO_CALL_POINTER, /* a register, or memory that a register leads to */
};
enum kymo_call_kind kymo_call_before(const uint8_t before[KYMO_CALL_BYTES], uint64_t return_address,
                                     uint64_t *value);

/* What a linkage stub jumps to. */
enum kymo_stub_kind {
    KYMO_STUB_NONE,  /* it is no stub */
    KYMO_STUB_SLOT,  /* *value: address of the word with the function's address */
    KYMO_STUB_INDEX, /* *value: index of its relocation, which it gives the resolver */
};
#define KYMO_STUB_BYTES 16u /* of most stubs; some linkers write tables of half of it */
/* size: KYMO_STUB_BYTES, or half. */
enum kymo_stub_kind kymo_stub_read(const uint8_t *code, size_t size, uint64_t address,
                                   uint64_t *value);

#endif
