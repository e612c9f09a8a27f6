/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_registers.h - a thread's registers as a perf event tells them.
 *
 * Layer:    arch
 * Flow:     perf_event.c asks for them -> the kernel -> [perf_registers] -> stack_copy.c
 * Threads:  any
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_ARCH_PERF_REGISTERS_H
#define KYMO_ARCH_PERF_REGISTERS_H

#include <asm/perf_regs.h>
#include <stdint.h>
#include <string.h>

#include "arch/registers.h"

/* The general registers and the pc: the first nine, and r8 to r15. */
#define KYMO_PERF_REGISTERS ((2ull << PERF_REG_X86_IP) - 1 + (0xffull << PERF_REG_X86_R8))
#define KYMO_PERF_REGISTER_WORDS 17u

/* words: those registers, in the order of their bits; need not be aligned. */
static inline void kymo_regs_from_perf(struct kymo_regs *regs, const void *words)
{
    static const uint8_t dwarf[] = {0, 3, 2, 1, 4, 5, 6, 7};
    uint64_t in[KYMO_PERF_REGISTER_WORDS];
    memcpy(in, words, sizeof in);
    for (unsigned i = 0; i < 8; i++)
        regs->gpr[dwarf[i]] = in[i];
    regs->ip = in[PERF_REG_X86_IP];
    for (unsigned i = 0; i < 8; i++)
        regs->gpr[8 + i] = in[PERF_REG_X86_IP + 1 + i];
}

#endif
