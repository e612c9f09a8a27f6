/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare SECONDS - burns a third of its CPU time in one function of assembly, a third in another one,
 * of which no unwind information says anything, and a third in that on a stack of its own, which
 * begins in such assembly. Both have rbp for themselves; the second one keeps the stack pointer
 * that it was given in an aligned stack. Prints the CPU time of their callers, in seconds.
 */
#include "workload.h"

void bare_saves(uint64_t rounds);
void bare_aligned(uint64_t rounds);
/* Runs the function on a stack that ends at `top`, until that calls bare_end with the same word. */
void bare_begin(void (*function)(void), char *top, uint64_t *word);
void bare_end(const uint64_t *word) __attribute__((noreturn));
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
        ".size bare_aligned, . - bare_aligned\n"
        /* As coroutines of boost.context begin and end. */
        ".globl bare_begin\n"
        ".type bare_begin, @function\n"
        "bare_begin:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdx)\n"
        "    mov %rsi, %rsp\n"
        "    lea 5f(%rip), %rax\n"
        "    push %rax\n"
        "    jmp *%rdi\n"
        "5:  xor %edi, %edi\n"
        "    call _exit@PLT\n"
        "    hlt\n"
        ".size bare_begin, . - bare_begin\n"
        ".globl bare_end\n"
        ".type bare_end, @function\n"
        "bare_end:\n"
        "    mov (%rdi), %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n"
        ".size bare_end, . - bare_end\n");

static KEPT double call_saves(uint64_t ns)
{
    return (double)burn_ns(bare_saves, ns) / 1e9;
}

static KEPT double call_aligned(uint64_t ns)
{
    return (double)burn_ns(bare_aligned, ns) / 1e9;
}

static struct {
    uint64_t word, ns;
    double burnt_s;
    char stack[65536] __attribute__((aligned(16)));
} own;

static void on_own_stack(void)
{
    own.burnt_s = (double)burn_ns(bare_aligned, own.ns) / 1e9;
    bare_end(&own.word);
}

int main(int argc, char **argv)
{
    uint64_t third = own.ns = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9 / 3);
    double saves_s = call_saves(third);
    double aligned_s = call_aligned(third);
    bare_begin(on_own_stack, own.stack + sizeof own.stack, &own.word);
    printf("{\"call_saves\": %.9f, \"call_aligned\": %.9f, \"on_own_stack\": %.9f}\n", saves_s,
           aligned_s, own.burnt_s);
    return 0;
}
