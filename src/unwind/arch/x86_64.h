/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86_64.h - what of a walk depends on the machine: registers, the kernel's signal frame, and what
 * machine code tells of calls.
 *
 * Layer:    unwind; above base
 * Flow:     unwind.h includes the file of the machine that it is compiled for
 * Threads:  any
 * Memory:   none
 * Signals:  everything is safe
 *
 * Another architecture is another file with the same names.
 */
#ifndef KYMO_UNWIND_ARCH_X86_64_H
#define KYMO_UNWIND_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "base/attr.h"

#if !defined(__x86_64__)
#error "Kymo unwinds x86-64 only"
#endif

/* Registers by their DWARF numbers. SP, FP (where there is a frame pointer) and RA, the return
 * address, are there on each machine. */
enum {
    KYMO_REG_RBX = 3,
    KYMO_REG_FP = 6,
    KYMO_REG_SP = 7,
    KYMO_REG_R10 = 10,
    KYMO_REG_R12 = 12,
    KYMO_REG_R15 = 15,
    KYMO_REG_RA = 16,
};

struct kymo_regs {
    uint64_t ip;
    uint64_t gpr[16]; /* by DWARF number */
};

/* Below this there is no code; above, no user address. */
#define KYMO_CODE_LOWEST 0x1000ull
#define KYMO_CODE_HIGHEST 0x7fffffffffffull

/* Masks of registers: all of them, and those that a callee leaves as they were. */
#define KYMO_REGS_ALL 0xffffu
#define KYMO_REGS_ACROSS_CALLS                                                                     \
    (1u << KYMO_REG_SP | 1u << KYMO_REG_FP | 1u << KYMO_REG_RBX | 1u << 12 | 1u << 13 | 1u << 14 | \
     1u << 15)

/* ---- the kernel's signal frame ---- */

/* Offsets from the stack pointer of the frame that a handler returns to: of the general registers,
 * by DWARF number, and of the interrupted pc. The ucontext lies there, and its registers at 40, in
 * the order of gregs. */
#define KYMO_SIGNAL_FRAME_GPR(reg) \
    (40 + 8ull * (const uint8_t[]){13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7}[reg])
#define KYMO_SIGNAL_FRAME_IP (40 + 8ull * 16)

KYMO_SIGNAL_SAFE static inline void kymo_regs_from_ucontext(struct kymo_regs *regs,
                                                            const ucontext_t *uc)
{
    const greg_t *g = uc->uc_mcontext.gregs;
    regs->ip = (uint64_t)g[REG_RIP];
    regs->gpr[0] = (uint64_t)g[REG_RAX];
    regs->gpr[1] = (uint64_t)g[REG_RDX];
    regs->gpr[2] = (uint64_t)g[REG_RCX];
    regs->gpr[3] = (uint64_t)g[REG_RBX];
    regs->gpr[4] = (uint64_t)g[REG_RSI];
    regs->gpr[5] = (uint64_t)g[REG_RDI];
    regs->gpr[6] = (uint64_t)g[REG_RBP];
    regs->gpr[7] = (uint64_t)g[REG_RSP];
    for (int i = 0; i < 8; i++)
        regs->gpr[8 + i] = (uint64_t)g[REG_R8 + i];
}

/* The registers of the caller of this, inlined: the walk begins in the function that uses it. */
KYMO_SIGNAL_SAFE static inline __attribute__((always_inline)) void kymo_regs_here(
    struct kymo_regs *regs)
{
    /* What a callee may change. One by one: all at once is a string instruction, which takes longer
     * to begin than this takes. */
    regs->gpr[0] = regs->gpr[1] = regs->gpr[2] = regs->gpr[4] = regs->gpr[5] = 0;
    regs->gpr[8] = regs->gpr[9] = regs->gpr[10] = regs->gpr[11] = 0;
    __asm__ volatile("leaq 0(%%rip), %%rax\n\t"
                     "movq %%rax, %0\n\t"
                     "movq %%rsp, %1\n\t"
                     "movq %%rbp, %2\n\t"
                     "movq %%rbx, %3\n\t"
                     "movq %%r12, %4\n\t"
                     "movq %%r13, %5\n\t"
                     "movq %%r14, %6\n\t"
                     "movq %%r15, %7"
                     : "=m"(regs->ip), "=m"(regs->gpr[7]), "=m"(regs->gpr[6]), "=m"(regs->gpr[3]),
                       "=m"(regs->gpr[12]), "=m"(regs->gpr[13]), "=m"(regs->gpr[14]),
                       "=m"(regs->gpr[15])
                     :
                     : "rax");
}

/* ---- what machine code tells ---- */

#define KYMO_CALL_BYTES 8u /* that are looked at in front of a return address */

/* Does a call through a pointer (FF /2 of any length) end with these bytes? */
static inline bool kymo_ends_with_indirect_call(const uint8_t before[KYMO_CALL_BYTES])
{
    for (unsigned length = 2; length <= 7; length++)
        if (before[8 - length] == 0xff && (before[9 - length] & 0x38) == 0x10)
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

/* What compilers' start files bring into each library begins so: endbr64, for calls through a
 * pointer, and the compare of a byte. Where its instructions start, and whether the eight bytes at
 * the function's start are such, as far as the pc has come. */
static const uint8_t kymo_start_code_at[] = {0, 4, 11};

static inline bool kymo_is_start_code(const void *bytes, unsigned come)
{
    static const uint8_t begins[6] = {0xf3, 0x0f, 0x1e, 0xfa, 0x80, 0x3d};
    return memcmp(bytes, begins, come > 4 ? sizeof begins : 4) == 0;
}

#endif
