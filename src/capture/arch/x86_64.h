/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86_64.h - what a handler reads of the thread that it interrupted, as this machine has it.
 *
 * Layer:    capture; above buffer
 * Flow:     on_signal.c includes the file of the machine that it is compiled for
 * Threads:  any
 * Memory:   none
 * Signals:  everything is safe
 */
#ifndef KYMO_CAPTURE_ARCH_X86_64_H
#define KYMO_CAPTURE_ARCH_X86_64_H

#include <errno.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/attr.h"
#include "buffer/record.h"

KYMO_SIGNAL_SAFE static inline uint64_t kymo_context_sp(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

/* Whether a system call has ended with EINTR, by the registers as the syscall instruction leaves
 * them. */
KYMO_SIGNAL_SAFE static inline int kymo_context_was_interrupted(const ucontext_t *context)
{
    const greg_t *regs = context->uc_mcontext.gregs;
    return regs[REG_RAX] == -EINTR && regs[REG_RCX] == regs[REG_RIP];
}

/* What a system call returns that has just ended, by the same registers; 0: the signal came
 * elsewhere. */
KYMO_SIGNAL_SAFE static inline int64_t kymo_context_call_result(const ucontext_t *context)
{
    const greg_t *regs = context->uc_mcontext.gregs;
    return regs[REG_RCX] == regs[REG_RIP] ? regs[REG_RAX] : 0;
}

/* The registers that a later walk of the same place may need. */
KYMO_SIGNAL_SAFE static inline void kymo_context_answer(const ucontext_t *context,
                                                        struct kymo_record_answer *r)
{
    const greg_t *regs = context->uc_mcontext.gregs;
    r->is_disturbed = (uint64_t)kymo_context_was_interrupted(context);
    r->ip = (uint64_t)regs[REG_RIP];
    r->rsp = (uint64_t)regs[REG_RSP];
    r->rbp = (uint64_t)regs[REG_RBP];
    r->rbx = (uint64_t)regs[REG_RBX];
    for (int i = 0; i < 4; i++)
        r->r12_to_15[i] = (uint64_t)regs[REG_R12 + i];
}

#endif
