/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare SECONDS - burns its CPU time in assembly of which no unwind information says anything: a
 * quarter in a function that pushes what it saves, one in a function that keeps the stack pointer
 * that it was given in an aligned stack, one in that on a stack of its own, which begins in such
 * assembly, and one in stubs as linkers make them. The first two have rbp for themselves. Prints
 * the CPU time of their callers, in seconds.
 */
#include "workload.h"

void bare_saves(uint64_t rounds);
void bare_aligned(uint64_t rounds);
void bare_stubs(uint64_t rounds);
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
        /* Stubs that jump through words: each to the next, and the last to the return. */
        ".type bare_chain, @function\n"
        "bare_chain:\n"
        ".set n, 0\n"
        ".rept 32\n"
        "    jmp *bare_words + 8 * n(%rip)\n"
        ".set n, n + 1\n"
        ".endr\n"
        "    ret\n"
        ".size bare_chain, . - bare_chain\n"
        ".globl bare_stubs\n"
        ".type bare_stubs, @function\n"
        "bare_stubs:\n"
        "6:  call bare_chain\n"
        "    dec %rdi\n"
        "    jns 6b\n"
        "    ret\n"
        ".size bare_stubs, . - bare_stubs\n"
        ".data\n"
        "bare_words:\n"
        ".set n, 0\n"
        ".rept 32\n"
        "    .quad bare_chain + 6 * (n + 1)\n"
        ".set n, n + 1\n"
        ".endr\n"
        ".text\n"
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

static KEPT double call_stubs(uint64_t ns)
{
    return (double)burn_ns(bare_stubs, ns) / 1e9;
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
    uint64_t quarter = own.ns = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9 / 4);
    double saves_s = call_saves(quarter);
    double aligned_s = call_aligned(quarter);
    double stubs_s = call_stubs(quarter);
    bare_begin(on_own_stack, own.stack + sizeof own.stack, &own.word);
    printf("{\"call_saves\": %.9f, \"call_aligned\": %.9f, \"call_stubs\": %.9f, "
           "\"on_own_stack\": %.9f}\n",
           saves_s, aligned_s, stubs_s, own.burnt_s);
    return 0;
}
