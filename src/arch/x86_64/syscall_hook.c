/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/syscall_hook.h"

#include <sys/syscall.h>

#define TEXT_(number) #number
#define TEXT(number) TEXT_(number)

/* All that a call may pass in registers, kept over one of ours; the stack is aligned in between. */
#define KEEPING(call)                                            \
    "push %rdi\n push %rsi\n push %rdx\n push %rcx\n push %r8\n" \
    "push %r9\n sub $8, %rsp\n .cfi_adjust_cfa_offset 56\n" call \
    "add $8, %rsp\n pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n"   \
    "pop %rsi\n pop %rdi\n .cfi_adjust_cfa_offset -56\n"
#define COMPARE(number) "cmp $" TEXT(number) ", %rdi\n"

__attribute__((naked)) void kymo_syscall_resolve_first(void)
{
    __asm__(KEEPING("call kymo_syscall_resolve\n") "jmp *kymo_real_syscall(%rip)\n");
}

__attribute__((naked, visibility("default"))) void kymo_hook_syscall(void) __asm__("syscall");
void kymo_hook_syscall(void)
{
    /* clang-format off */
    __asm__(COMPARE(__NR_prctl) "je 1f\n"
            COMPARE(__NR_seccomp) "je 1f\n"
            COMPARE(__NR_rt_sigaction) "je 1f\n"
            COMPARE(__NR_rt_sigprocmask) "jne 2f\n"
            "1:\n" KEEPING("call kymo_syscall_look\n")
            "2: jmp *kymo_real_syscall(%rip)\n");
    /* clang-format on */
}
