/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h - where a thread's registers are: in the thread itself, and in the kernel's signal
 * frame.
 *
 * Layer:    arch
 * Flow:     the ucontext of a handler -> [context] -> on_signal.c, unwind.c
 * Threads:  any
 * Memory:   none
 * Signals:  everything is safe
 */
#ifndef KYMO_ARCH_CONTEXT_H
#define KYMO_ARCH_CONTEXT_H

#include <errno.h>
#include <stdint.h>
#include <ucontext.h>

#include "arch/registers.h"
#include "base/attr.h"

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

KYMO_SIGNAL_SAFE static inline uint64_t kymo_context_sp(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

/* What a system call returns that has just ended, by the registers as the syscall instruction
 * leaves them; 0: the signal came elsewhere. */
KYMO_SIGNAL_SAFE static inline int64_t kymo_context_call_result(const ucontext_t *context)
{
    const greg_t *regs = context->uc_mcontext.gregs;
    return regs[REG_RCX] == regs[REG_RIP] ? regs[REG_RAX] : 0;
}

/* Whether a system call has ended with EINTR. */
KYMO_SIGNAL_SAFE static inline int kymo_context_was_interrupted(const ucontext_t *context)
{
    return kymo_context_call_result(context) == -EINTR;
}

/* ---- code that has no caller ---- */

/* No entry code of a program or of ld.so is longer than that; ld.so's is 61 bytes in glibc 2.36. */
#define KYMO_ENTRY_CODE_BYTES 64u
/* The code of glibc's __start_context up to its last call. */
#define KYMO_COROUTINE_ENTRY_BYTES 26u

/* Where the function that makecontext has put into a context returns to; 0: not known. */
static inline uint64_t kymo_context_returns_to(const ucontext_t *context)
{
    uint64_t sp = kymo_context_sp(context);
    uint64_t lo = (uint64_t)(uintptr_t)context->uc_stack.ss_sp;
    if (sp < lo || sp > lo + context->uc_stack.ss_size - 8 || sp % 8 != 0)
        return 0;
    return *(const uint64_t *)(uintptr_t)sp;
}

#endif
