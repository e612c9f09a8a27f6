/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare SECONDS - burns a third of its CPU time in one function of assembly and the rest in another
 * one, of which no unwind information says anything. Both have rbp for themselves; the second one
 * keeps the stack pointer that it was given in an aligned stack. Prints the CPU time of both of
 * their callers, in seconds.
 */
#include "workload.h"

void bare_saves(uint64_t rounds);
void bare_aligned(uint64_t rounds);
__asm__(".text\n"
        ".type bare_leaf, @function\n"
        "bare_leaf:\n"
        "    push %rbx\n"
        "    mov $16, %ebx\n"
        "1:  imul %rax, %rax\n"
        "    dec %ebx\n"
        "    jne 1b\n"
        "    pop %rbx\n"
        "    ret\n"
        ".size bare_leaf, . - bare_leaf\n"
        ".globl bare_saves\n"
        ".type bare_saves, @function\n"
        "bare_saves:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    push %r12\n"
        "    sub $0x140, %rsp\n"
        "    mov %rdi, %rbp\n"
        "    mov $1, %eax\n"
        "2:  imul %rax, %rax\n"
        "    test $15, %ebp\n"
        "    jne 3f\n"
        "    call bare_leaf\n"
        "3:  dec %rbp\n"
        "    jns 2b\n"
        "    add $0x140, %rsp\n"
        "    pop %r12\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n"
        ".size bare_saves, . - bare_saves\n"
        ".globl bare_aligned\n"
        ".type bare_aligned, @function\n"
        "bare_aligned:\n"
        "    push %rbp\n"
        "    mov %rsp, %rax\n"
        "    and $-64, %rsp\n"
        "    sub $128, %rsp\n"
        "    mov %rax, 120(%rsp)\n"
        "    mov %rdi, %rbp\n"
        "4:  imul %rax, %rax\n"
        "    pxor %xmm0, %xmm0\n"
        "    movdqa %xmm0, 16(%rsp)\n"
        "    dec %rbp\n"
        "    jns 4b\n"
        "    mov 120(%rsp), %rsp\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size bare_aligned, . - bare_aligned\n");

static KEPT double call_saves(uint64_t ns)
{
    return (double)burn_ns(bare_saves, ns) / 1e9;
}

static KEPT double call_aligned(uint64_t ns)
{
    return (double)burn_ns(bare_aligned, ns) / 1e9;
}

int main(int argc, char **argv)
{
    uint64_t third = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9 / 3);
    double saves_s = call_saves(third);
    double aligned_s = call_aligned(2 * third);
    printf("{\"call_saves\": %.9f, \"call_aligned\": %.9f}\n", saves_s, aligned_s);
    return 0;
}
