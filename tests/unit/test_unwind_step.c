/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strongest test of the unwinder: the processor's trap flag single-steps a mixed workload, and
 * at every instruction the walk from the interrupted registers must be complete and equal to
 * libgcc's.
 */
#include "arch/context.h"
#include "unit.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "unwind_help.h"

#define TRAP_FLAG 0x100

/* libgcc's, in no header of its own. */
const void *_Unwind_Find_FDE(void *pc, void *bases);

static struct {
    struct kymo_stack_bounds bounds;
    volatile sig_atomic_t on;
    size_t steps;
    size_t steps_max;
    size_t complete;
    size_t equal;
    size_t uncovered;
    size_t shown;
    unsigned notes;
    bool libgcc_fails;
} stepping;

static struct help_trace expected;
static struct help_trace
    outer; /* libgcc's chain at the beginning of the work, without its own pc */
static uint64_t pcs[HELP_MAX_FRAMES];

/* Where libgcc cannot be asked (it crashes in the epilogues of aligned frames): the walk ends like
 * the chain that led to the work, with a few frames more. */
static bool ends_like_outer(size_t n)
{
    return n >= outer.n && n <= outer.n + 24 &&
           memcmp(pcs + n - outer.n, outer.pcs, outer.n * sizeof *pcs) == 0;
}

/* libgcc itself has nothing to go by where no unwind information covers the pc: there are nops
 * between two functions that run into each other, in glibc and in work_padding. */
static bool is_uncovered(uint64_t pc)
{
    struct {
        void *tbase;
        void *dbase;
        void *func;
    } bases;
    return _Unwind_Find_FDE((void *)(uintptr_t)pc, &bases) == NULL;
}

static __attribute__((noinline)) void note_outer(void)
{
    help_libgcc(&outer);
    outer.n -= 2; /* this function, and step_through, whose pc moves on */
    memmove(outer.pcs, outer.pcs + 2, outer.n * sizeof *pcs);
}

static void compare(const ucontext_t *uc)
{
    struct kymo_regs regs;
    struct kymo_walk_result result;
    kymo_regs_from_ucontext(&regs, uc);
    uint64_t pc = regs.ip;
    size_t n =
        kymo_unwind_walk(&help_walker, &regs, &stepping.bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    size_t from = 0;
    stepping.steps++;
    stepping.notes |= result.notes;
    bool complete = result.end == KYMO_WALK_COMPLETE;
    bool equal = false;
    bool uncovered = is_uncovered(pc);
    stepping.uncovered += uncovered;
    if (stepping.libgcc_fails || uncovered) {
        equal = ends_like_outer(n);
    } else {
        help_libgcc(&expected);
        from = help_find(&expected, pc);
        equal = n == expected.n - from && memcmp(pcs, expected.pcs + from, n * sizeof *pcs) == 0;
    }
    stepping.complete += complete;
    stepping.equal += equal;
    if ((!complete || !equal) && stepping.shown++ < 20) {
        Dl_info info = {0};
        dladdr((void *)(uintptr_t)pc, &info);
        fprintf(stderr, "at %llx (%s+%llx, %s): %s\n", (unsigned long long)pc,
                info.dli_fname ? info.dli_fname : "?",
                (unsigned long long)(pc - (uint64_t)(uintptr_t)info.dli_fbase),
                info.dli_sname ? info.dli_sname : "?", kymo_walk_end_name(result.end));
        help_print("  ours  ", pcs, n);
        help_print("  libgcc", expected.pcs + from, expected.n - from);
    }
}

static void on_trap(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    ucontext_t *uc = context;
    greg_t *flags = &uc->uc_mcontext.gregs[REG_EFL];
    if (!stepping.on || stepping.steps >= stepping.steps_max) {
        *flags &= ~(greg_t)TRAP_FLAG;
        return;
    }
    if (*flags & TRAP_FLAG)
        compare(uc);
    *flags |= TRAP_FLAG;
}

/* Runs work with a trap after each instruction, and holds every walk to libgcc's. */
static void step_through(void (*work)(void), bool libgcc_fails, size_t steps_max,
                         size_t steps_least)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction before;
    memset(&stepping, 0, sizeof stepping);
    stepping.bounds = help_bounds();
    stepping.steps_max = steps_max;
    stepping.libgcc_fails = libgcc_fails;
    note_outer();
    stepping.on = 1;
    sigaction(SIGTRAP, &action, &before);
    raise(SIGTRAP);
    work();
    stepping.on = 0;
    raise(SIGTRAP);
    sigaction(SIGTRAP, &before, NULL);
    fprintf(stderr, "%zu instructions, %zu uncovered, %zu complete, %zu equal, notes %x\n",
            stepping.steps, stepping.uncovered, stepping.complete, stepping.equal, stepping.notes);
    assert_true(stepping.steps >= steps_least);
    assert_int_equal(stepping.complete, stepping.steps);
    assert_int_equal(stepping.equal, stepping.steps);
    assert_int_equal(stepping.notes & KYMO_WALK_BY_FRAME_POINTER, 0);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static volatile double sink;

static void work_libc(void)
{
    char text[256];
    double values[24];
    for (int i = 0; i < 24; i++)
        values[i] = sin((double)i * 1.7) * exp((double)i / 9);
    qsort(values, 24, sizeof values[0], compare_doubles);
    int len = snprintf(text, sizeof text, "%s %d %.17g %p", "text", -42, values[3], (void *)values);
    char *copy = malloc((size_t)len + 4096);
    memcpy(copy, text, (size_t)len + 1);
    memset(copy + len, 7, 4000);
    sink = strtod(strchr(copy, ' ') + 1, NULL);
    free(copy);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* the vdso */
    time_t seconds = now.tv_sec;
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%c", &tm);
}

/* Walks through the loader's search, and through functions that are bound on their first call. */
static void work_loader(void)
{
    void *libm = dlopen("libm.so.6", RTLD_LAZY);
    assert_non_null(libm);
    double (*gamma_function)(double) = (double (*)(double))dlsym(libm, "lgamma");
    assert_non_null(gamma_function);
    sink = gamma_function(4.5);
    dlclose(libm);
}

static void work_crypto(void)
{
    void *crypto = dlopen("libcrypto.so.3", RTLD_LAZY);
    if (!crypto)
        return;
    unsigned char *(*sha256)(const unsigned char *, size_t, unsigned char *) =
        (unsigned char *(*)(const unsigned char *, size_t, unsigned char *))dlsym(crypto, "SHA256");
    unsigned char digest[32];
    if (sha256)
        (void)sha256((const unsigned char *)"abc", 3, digest);
}

static volatile int allocated;

/* A frame with variable size and 64-byte alignment: rbp, and a CFA that is read from memory. */
static __attribute__((noinline)) void aligned_frame(int n)
{
    __attribute__((aligned(64))) volatile char block[128];
    char *variable = __builtin_alloca((size_t)n * 24 + 24);
    memset(variable, n, (size_t)n * 24);
    block[0] = variable[n];
    allocated += block[0];
    if (n > 0)
        aligned_frame(n - 1);
}

static void work_aligned(void)
{
    aligned_frame(5);
}

static void work_jumps(void)
{
    jmp_buf here;
    if (setjmp(here) == 0)
        longjmp(here, 1);
    ucontext_t context;
    volatile int again = 0;
    getcontext(&context);
    if (!again) {
        again = 1;
        setcontext(&context);
    }
}

/* A function that runs into the next one through nops of each length, which nothing covers. rbp is
 * no way out: it is 0. */
void run_through_padding(void);
#define PADDING_NOPS 10
__asm__(".text\n"
        ".type run_through_padding, @function\n"
        "run_through_padding:\n"
        ".cfi_startproc\n"
        "    push %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset 6, -16\n"
        "    xor %ebp, %ebp\n"
        ".cfi_endproc\n"
        ".size run_through_padding, . - run_through_padding\n"
        "    .byte 0x90\n"
        "    .byte 0x66, 0x90\n"
        "    .byte 0x0f, 0x1f, 0x00\n"
        "    .byte 0x0f, 0x1f, 0x40, 0\n"
        "    .byte 0x0f, 0x1f, 0x44, 0, 0\n"
        "    .byte 0x66, 0x0f, 0x1f, 0x44, 0, 0\n"
        "    .byte 0x0f, 0x1f, 0x80, 0, 0, 0, 0\n"
        "    .byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
        "    .byte 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
        "    .byte 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
        ".type run_on, @function\n"
        "run_on:\n"
        ".cfi_startproc\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset 6, -16\n"
        "    pop %rbp\n"
        "    .cfi_def_cfa_offset 8\n"
        "    .cfi_restore 6\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size run_on, . - run_on\n");

static void work_padding(void)
{
    run_through_padding();
}

static void step_padding(void **state)
{
    (void)state;
    step_through(work_padding, false, 1000, 10);
    assert_int_equal(stepping.uncovered, PADDING_NOPS);
}

/* Functions of which nothing is said, as assembly is often written: with rbp as one more register,
 * with frame pointers, with arguments on the stack, with calls of others, with a jump to another
 * one at the end. */
void bare_saves(void (*f)(void));
void bare_frame(void (*f)(void));
void bare_aligned(void (*f)(void));
void bare_arguments(void (*f)(void));
void bare_jump(void (*f)(void));
void bare_leaf(void);
__asm__(".text\n"
        ".type bare_saves, @function\n"
        "bare_saves:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    push %r12\n"
        "    sub $0x120, %rsp\n"
        "    mov $3, %ebp\n"
        "    mov %rdi, %r12\n"
        "    lea 16(%rsp), %rbx\n"
        "1:  test $1, %ebp\n"
        "    je 2f\n"
        "    pxor %xmm1, %xmm1\n"
        "    movdqu %xmm1, (%rbx)\n"
        "    call *%r12\n"
        "    jmp 3f\n"
        "2:  call bare_leaf\n"
        "3:  mov 24(%rsp), %rcx\n"
        "    dec %ebp\n"
        "    jne 1b\n"
        "    add $0x120, %rsp\n"
        "    pop %r12\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n"
        ".size bare_saves, . - bare_saves\n"
        ".type bare_frame, @function\n"
        "bare_frame:\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    sub $64, %rsp\n"
        "    mov %rbx, -8(%rbp)\n"
        "    xor %ebx, %ebx\n"
        "    call *%rdi\n"
        "    mov -8(%rbp), %rbx\n"
        "    leave\n"
        "    ret\n"
        ".size bare_frame, . - bare_frame\n"
        ".type bare_aligned, @function\n"
        "bare_aligned:\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    push %r13\n"
        "    push %rbx\n"
        "    and $-64, %rsp\n"
        "    sub $128, %rsp\n"
        "    xor %r13d, %r13d\n"
        "    mov $1, %ebx\n"
        "    call *%rdi\n"
        "    lea -16(%rbp), %rsp\n"
        "    pop %rbx\n"
        "    pop %r13\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size bare_aligned, . - bare_aligned\n"
        ".type bare_arguments, @function\n"
        "bare_arguments:\n"
        "    push %rbx\n"
        "    mov %rdi, %rbx\n"
        "    push $1\n"
        "    pushq (%rsp)\n"
        "    call *%rbx\n"
        "    pop %rax\n"
        "    lea 8(%rsp), %rsp\n"
        "    pop %rbx\n"
        "    ret $0\n"
        ".size bare_arguments, . - bare_arguments\n"
        ".type bare_jump, @function\n"
        "bare_jump:\n"
        "    push %rbx\n"
        "    push %r15\n"
        "    xor %ebx, %ebx\n"
        "    xor %r15d, %r15d\n"
        "    pop %r15\n"
        "    pop %rbx\n"
        "    jmp bare_saves\n"
        ".size bare_jump, . - bare_jump\n"
        ".type bare_leaf, @function\n"
        "bare_leaf:\n"
        "    mov %rbx, -8(%rsp)\n"
        "    mov $2, %ebx\n"
        "4:  sub $1, %rbx\n"
        "    jne 4b\n"
        "    mov -8(%rsp), %rbx\n"
        "    rep ret\n"
        ".size bare_leaf, . - bare_leaf\n");

static void bare_calls(void)
{
    sink = 1;
}

/* Frames whose CFA counts from a register, with such a function around them and within. */
static void bare_calls_more(void)
{
    aligned_frame(1);
    bare_aligned(bare_calls);
}

static void work_bare(void)
{
    void (*const all[])(void (*)(void)) = {bare_saves, bare_frame, bare_aligned, bare_arguments,
                                           bare_jump};
    for (unsigned i = 0; i < KYMO_ARRAY_LEN(all); i++)
        all[i](i % 2 ? bare_calls : bare_calls_more);
}

static void step_bare(void **state)
{
    (void)state;
    step_through(work_bare, true, 20000, 400);
    assert_true(stepping.uncovered >= 100);
}

static void step_libc(void **state)
{
    (void)state;
    step_through(work_libc, false, 60000, 5000);
}

static void step_loader(void **state)
{
    (void)state;
    step_through(work_loader, false, 60000, 2000);
}

static void step_crypto(void **state)
{
    (void)state;
    void *crypto = dlopen("libcrypto.so.3", RTLD_LAZY); /* its constructors are not the test */
    step_through(work_crypto, false, 40000, 100);
    if (crypto)
        dlclose(crypto);
}

static void step_aligned(void **state)
{
    (void)state;
    step_through(work_aligned, true, 20000, 200);
}

static void step_jumps(void **state)
{
    (void)state;
    step_through(work_jumps, false, 20000, 100);
}

static void work_vfork(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
}

static void step_vfork(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its wrapper of vfork has no unwind information */
#endif
    step_through(work_vfork, false, 1000, 10);
}

/* The same with the handler on an alternate stack, in a thread: its frames end in clone. */
static void *thread_main(void *unused)
{
    static char alternate[1 << 16];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    stack_t off = {.ss_flags = SS_DISABLE};
    (void)unused;
    sigaltstack(&stack, NULL);
    step_through(work_libc, false, 20000, 5000);
    step_through(work_aligned, true, 20000, 200);
    step_through(work_jumps, false, 20000, 100);
    sigaltstack(&off, NULL);
    return NULL;
}

static void step_in_thread(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
    pthread_join(thread, NULL);
}

static int setup(void **state)
{
    (void)state;
    assert_int_equal(kymo_walker_init(&help_walker, help_cache, KYMO_ARRAY_LEN(help_cache)),
                     KYMO_OK);
    help_libgcc(&expected); /* libgcc's own first-time work */
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_libc),      cmocka_unit_test(step_loader),
        cmocka_unit_test(step_crypto),    cmocka_unit_test(step_aligned),
        cmocka_unit_test(step_jumps),     cmocka_unit_test(step_vfork),
        cmocka_unit_test(step_padding),   cmocka_unit_test(step_bare),
        cmocka_unit_test(step_in_thread),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
