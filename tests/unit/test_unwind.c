/* SPDX-License-Identifier: Apache-2.0 */
/* Walks from many situations, each equal to what libgcc finds there. */
#include "arch/context.h"
#include "unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/machine_code.h"
#include "arch/row.h"
#include "unwind/row_cache.h"
#include "unwind_help.h"

static struct help_trace expected;
static uint64_t pcs[HELP_MAX_FRAMES];
static struct kymo_walk_result result;
static volatile int sink;
static size_t walked;

/* Walks from here and holds the return addresses to libgcc's; the first pc differs by a few
 * instructions. Returns the number of frames. */
static __attribute__((noinline)) size_t check_here(void)
{
    struct kymo_stack_bounds bounds = help_bounds();
    struct kymo_regs regs;
    kymo_regs_here(&regs);
    size_t n = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    help_libgcc(&expected);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_int_equal(result.notes & KYMO_WALK_BY_FRAME_POINTER, 0);
    assert_int_equal(n, expected.n);
    assert_memory_equal(pcs + 1, expected.pcs + 1, (n - 1) * sizeof *pcs);
    return n;
}

/* The same from a handler: from the handler itself, and from what it interrupted. */
/* volatile: raise is declared not to come back into this file. */
static volatile size_t frames_in_handler;
static volatile size_t frames_interrupted;

static void on_signal(int signal_number, siginfo_t *info, void *context)
{
    struct kymo_regs regs;
    struct kymo_stack_bounds bounds = help_bounds();
    (void)signal_number;
    (void)info;
    frames_in_handler = check_here();
    assert_true(result.notes & KYMO_WALK_BY_SIGNAL_FRAME);
    kymo_regs_from_ucontext(&regs, context);
    uint64_t pc = regs.ip;
    size_t from = help_find(&expected, pc);
    frames_interrupted =
        kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_int_equal(frames_interrupted, expected.n - from);
    assert_memory_equal(pcs, expected.pcs + from, frames_interrupted * sizeof *pcs);
}

static void with_handler(int flags)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
    struct sigaction before;
    sigaction(SIGUSR1, &action, &before);
    frames_in_handler = frames_interrupted = 0;
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
    assert_true(frames_interrupted >= 4);
    assert_true(frames_in_handler > frames_interrupted + 1);
}

static void plain(void **state)
{
    (void)state;
    assert_true(check_here() >= 5);
}

static __attribute__((noinline)) size_t recurse(int depth, int *frames)
{
    int local[4] = {depth, 1, 2, 3};
    size_t n = depth ? recurse(depth - 1, local) : check_here();
    sink += local[depth & 3] + frames[0];
    return n;
}

static void deep_recursion(void **state)
{
    int zero[4] = {0};
    (void)state;
    assert_true(recurse(2000, zero) > 2000);
}

static void depth_is_bounded(void **state)
{
    struct kymo_regs regs;
    struct kymo_stack_bounds bounds = help_bounds();
    uint64_t few[4] = {0, 0, 0, 99};
    (void)state;
    kymo_regs_here(&regs);
    struct kymo_regs again = regs;
    assert_int_equal(kymo_unwind_walk(&help_walker, &regs, &bounds, few, 3, 0, &result), 3);
    assert_int_equal(result.end, KYMO_WALK_DEPTH);
    assert_int_equal(few[3], 99);
    regs = again;
    assert_int_equal(kymo_unwind_walk(&help_walker, &regs, &bounds, few, 0, 0, &result), 0);
    assert_int_equal(result.end, KYMO_WALK_DEPTH);
    regs = again;
    size_t n = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    regs = again; /* room for exactly all frames is enough */
    assert_int_equal(kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, n, 0, &result), n);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
}

static size_t trampoline_frames;

static void walk_below(void)
{
    struct kymo_regs regs;
    struct kymo_stack_bounds bounds = help_bounds();
    kymo_regs_here(&regs);
    trampoline_frames =
        kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
}

/* As CPython's `-X perf` makes them: no rows, no frame pointer, and rbp is the caller's. */
static void trampolines_say_how_large_they_are(void **state)
{
    static const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, /* sub $8,%rsp */
                                         0xff, 0xd7,             /* call *%rdi */
                                         0x48, 0x83, 0xc4, 0x08, /* add $8,%rsp */
                                         0xc3};
    (void)state;
    unsigned char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page, code, sizeof code);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    union {
        void *page;
        void (*call)(void (*)(void));
    } trampoline = {.page = page};
    help_walker.has_trampolines = 1;
    trampoline.call(walk_below);
    help_walker.has_trampolines = 0;
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_int_equal(result.notes & KYMO_WALK_BY_FRAME_POINTER, 0);
    size_t n = trampoline_frames;
    assert_int_equal(pcs[1], (uint64_t)(uintptr_t)page + 6);
    assert_int_equal(n, check_here() + 1); /* check_here is as deep as walk_below would be */
    /* Anything else there, and a frame that no function has, is not believed. */
    assert_int_equal(kymo_frame_of_return(0xc308c48348), 8);
    assert_int_equal(kymo_frame_of_return(0x112233c308c48348), 8);
    assert_int_equal(kymo_frame_of_return(0xc304c48348), 0);
    assert_int_equal(kymo_frame_of_return(0xc380c48348), 0);
    assert_int_equal(kymo_frame_of_return(0xc300c48348), 0);
    assert_int_equal(kymo_frame_of_return(0xc208c48348), 0);
    munmap(page, 4096);
}

static void handler(void **state)
{
    (void)state;
    with_handler(0);
}

static void handler_on_alternate_stack(void **state)
{
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    stack_t off = {.ss_flags = SS_DISABLE};
    (void)state;
    assert_non_null(stack.ss_sp);
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    with_handler(SA_ONSTACK);
    assert_int_equal(sigaltstack(&off, NULL), 0);
    free(stack.ss_sp);
}

static int compare_and_check(const void *a, const void *b)
{
    check_here();
    int x = *(const int *)a;
    int y = *(const int *)b;
    return x < y ? -1 : x > y;
}

static void inside_qsort(void **state)
{
    int values[] = {3, 1, 2, 5, 4};
    (void)state;
    qsort(values, 5, sizeof values[0], compare_and_check);
    assert_int_equal(values[0], 1);
}

static void *in_thread(void *unused)
{
    (void)unused;
    assert_true(check_here() >= 3);
    with_handler(0);
    return NULL;
}

static void thread(void **state)
{
    pthread_t id;
    pthread_attr_t attr;
    (void)state;
    assert_int_equal(pthread_create(&id, NULL, in_thread, NULL), 0);
    pthread_join(id, NULL);
    pthread_attr_init(&attr); /* help_trace needs some, but the smallest stacks work, too */
    pthread_attr_setstacksize(&attr, 1 << 17);
    assert_int_equal(pthread_create(&id, &attr, in_thread, NULL), 0);
    pthread_join(id, NULL);
    pthread_attr_destroy(&attr);
}

/* Variable size and 64-byte alignment: rbp, and a CFA that is read from memory. */
static __attribute__((noinline)) void aligned(int n)
{
    __attribute__((aligned(64))) volatile char block[128];
    char *variable = __builtin_alloca((size_t)n * 24);
    memset(variable, n, (size_t)n * 24);
    block[0] = variable[n];
    sink += block[0];
    check_here();
    if (n > 1)
        aligned(n - 1);
    sink += block[1];
}

static void aligned_frames(void **state)
{
    (void)state;
    aligned(6);
}

/* A CFA that counts from rbx, as in ld.so's resolver of lazy bindings: rbx must be restored through
 * frames that save it. */
void through_rbx(void (*function)(void));
__asm__(".text\n"
        ".type through_rbx, @function\n"
        "through_rbx:\n\t"
        ".cfi_startproc\n\t"
        "pushq %rbx\n\t"
        ".cfi_def_cfa_offset 16\n\t"
        ".cfi_offset %rbx, -16\n\t"
        "movq %rsp, %rbx\n\t"
        ".cfi_def_cfa_register %rbx\n\t"
        "subq $1024, %rsp\n\t"
        "andq $-64, %rsp\n\t"
        "call *%rdi\n\t"
        "movq %rbx, %rsp\n\t"
        ".cfi_def_cfa_register %rsp\n\t"
        "popq %rbx\n\t"
        ".cfi_def_cfa_offset 8\n\t"
        ".cfi_restore %rbx\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size through_rbx, .-through_rbx");

static __attribute__((noinline)) void clobber_rbx_and_check(void)
{
    __asm__ volatile("movq $-1, %%rbx" ::: "rbx");
    check_here();
    with_handler(0);
    __asm__ volatile("" ::: "rbx");
}

static void cfa_from_rbx(void **state)
{
    (void)state;
    through_rbx(clobber_rbx_and_check);
}

/* ---- coroutines ---- */

static ucontext_t main_context;
static ucontext_t coroutine_context;

static void coroutine(void)
{
    check_here();
    assert_true(result.notes & KYMO_WALK_BY_PROBE); /* not the thread's stack */
    with_handler(0);
    swapcontext(&coroutine_context, &main_context);
    check_here();
}

static void in_coroutine(void **state)
{
    size_t size = 1 << 18;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(stack != MAP_FAILED);
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = stack;
    coroutine_context.uc_stack.ss_size = size;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, coroutine, 0);
    swapcontext(&main_context, &coroutine_context);
    check_here();
    swapcontext(&main_context, &coroutine_context);
    munmap(stack, size);
}

/* Where probing is not allowed, an unknown stack gives its top frame and says why. */
static void unknown_stack_without_probe(void **state)
{
    struct kymo_regs regs;
    (void)state;
    kymo_regs_here(&regs);
    uint64_t pc = regs.ip;
    help_walker.probe_allowed = 0;
    size_t n = kymo_unwind_walk(&help_walker, &regs, NULL, pcs, HELP_MAX_FRAMES, 0, &result);
    help_walker.probe_allowed = 1;
    assert_int_equal(n, 1);
    assert_int_equal(pcs[0], pc);
    assert_int_equal(result.end, KYMO_WALK_BAD_STACK);
    assert_true(result.notes & KYMO_WALK_PROBE_REFUSED);
}

/* ---- code without rows ---- */

/* Functions made at run time. One keeps a frame pointer: push rbp; mov rsp, rbp; call *rdi; pop
 * rbp; ret. The other has rbp for itself: push rbp; mov 1, ebp; call *rdi; pop rbp; ret. */
static const unsigned char jit_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
static const unsigned char jit_code_without[] = {0x55, 0xbd, 1, 0, 0, 0, 0xff, 0xd7, 0x5d, 0xc3};
static uint64_t jit_return;
static uint32_t jit_notes;

static __attribute__((noinline)) void check_through_jit(void)
{
    struct kymo_stack_bounds bounds = help_bounds();
    struct kymo_regs regs;
    kymo_regs_here(&regs);
    size_t n = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_int_equal(result.notes & KYMO_WALK_BY_FRAME_POINTER, jit_notes);
    assert_int_equal(pcs[1], jit_return);
    assert_true(n >= 6);
}

static __attribute__((noinline)) void call_jit(void (*code)(void (*)(void)))
{
    code(check_through_jit);
    check_here(); /* what the chain is from here on */
    sink++;
}

static void through_made_code(void **state)
{
    (void)state;
    uint8_t *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(code != MAP_FAILED);
    /* At one place, one after the other: what is found of one does not hold for the other. */
    memcpy(code, jit_code, sizeof jit_code);
    jit_return = (uint64_t)(uintptr_t)code + 6;
    jit_notes = KYMO_WALK_BY_FRAME_POINTER;
    call_jit((void (*)(void (*)(void)))(uintptr_t)code);
    memcpy(code, jit_code_without, sizeof jit_code_without);
    jit_return = (uint64_t)(uintptr_t)code + 8;
    jit_notes = 0;
    call_jit((void (*)(void (*)(void)))(uintptr_t)code);
    munmap(code, 4096);
}

/* Two functions of a library without rows, as assembly may be, whose code does not show how they
 * return. One keeps a frame pointer; the other has rbp for itself, here a pointer to two words that
 * look like a frame on the stack. */
void gap_keeps_rbp(void (*f)(void));
void gap_uses_rbp(void (*f)(void), const void *second_word);
__asm__(".text\n"
        ".globl gap_keeps_rbp\n.type gap_keeps_rbp, @function\ngap_keeps_rbp:\n"
        "push %rbp\n mov %rsp, %rbp\n call *%rdi\n pop %rbp\n pop %rax\n jmp *%rax\n"
        ".size gap_keeps_rbp, . - gap_keeps_rbp\n"
        ".globl gap_uses_rbp\n.type gap_uses_rbp, @function\ngap_uses_rbp:\n"
        "push %rbp\n push %rsi\n push %rsp\n mov %rsp, %rbp\n call *%rdi\n"
        "pop %rsi\n pop %rsi\n pop %rbp\n pop %rax\n jmp *%rax\n"
        ".size gap_uses_rbp, . - gap_uses_rbp\n");

static __attribute__((noinline)) void walk_in_gap(void)
{
    struct kymo_stack_bounds bounds = help_bounds();
    struct kymo_regs regs;
    kymo_regs_here(&regs);
    walked = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    sink++;
}

/* What rbp points to is believed if it is behind a call, or cannot be read. */
static void gap_in_a_library(void **state)
{
    (void)state;
    gap_keeps_rbp(walk_in_gap);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_true(result.notes & KYMO_WALK_BY_FRAME_POINTER);
    assert_true(result.notes & KYMO_WALK_IN_GAP);
    assert_true(walked >= 4);
    uint64_t *data = calloc(64, sizeof *data);
    assert_non_null(data);
    gap_uses_rbp(walk_in_gap, data + 32);
    assert_int_equal(walked, 2);
    assert_int_equal(result.end, KYMO_WALK_NO_ROW);
    help_walker.probe_allowed = 0;
    gap_uses_rbp(walk_in_gap, data + 32);
    help_walker.probe_allowed = 1;
    assert_int_equal(pcs[2], (uint64_t)(uintptr_t)(data + 32));
    free(data);
}

/* As a start file's function that is called by a pointer: the frame is its caller's still, and rbp,
 * which is none. */
void gap_at_entry(void);
void calls_by_pointer(void (*f)(void));
__asm__(".text\n"
        ".globl gap_at_entry\n.type gap_at_entry, @function\ngap_at_entry:\n"
        "endbr64\n cmpb $0, gap_at_entry(%rip)\n nop\n nop\n ret\n"
        ".size gap_at_entry, . - gap_at_entry\n"
        ".globl calls_by_pointer\n.type calls_by_pointer, @function\ncalls_by_pointer:\n"
        ".cfi_startproc\n push %rbp\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset %rbp, 0\n"
        "mov $1, %ebp\n call *%rdi\n"
        "pop %rbp\n .cfi_adjust_cfa_offset -8\n .cfi_restore %rbp\n ret\n .cfi_endproc\n"
        ".size calls_by_pointer, . - calls_by_pointer\n");

/* Jumps to f, to which it gives a return address that no call made. */
void not_called(void (*f)(void));
__asm__(".text\n"
        ".globl not_called\n.type not_called, @function\nnot_called:\n"
        "lea 1f(%rip), %rax\n sub $8, %rsp\n push %rax\n jmp *%rdi\n nop\n nop\n nop\n nop\n nop\n "
        "nop\n nop\n"
        "1: add $8, %rsp\n ret\n"
        ".size not_called, . - not_called\n");

static volatile uint64_t entry_offset;

/* Walks as if the function that was called, us, were that one, interrupted at entry_offset. */
static __attribute__((noinline)) void walk_at_entry(void)
{
    struct kymo_stack_bounds bounds = help_bounds();
    struct kymo_regs regs;
    kymo_regs_here(&regs);
    regs.gpr[KYMO_REG_SP] = (uint64_t)(uintptr_t)__builtin_dwarf_cfa() - 8;
    regs.gpr[KYMO_REG_FP] = 1;
    regs.ip = (uint64_t)(uintptr_t)gap_at_entry + entry_offset;
    walked = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    sink++;
}

static void gap_at_an_entry(void **state)
{
    (void)state;
    static const uint64_t offsets[] = {0, 4, 11, 12};
    for (unsigned i = 0; i < KYMO_ARRAY_LEN(offsets); i++) {
        entry_offset = offsets[i];
        calls_by_pointer(walk_at_entry);
        assert_true(walked > 3);
        assert_int_equal(result.end, KYMO_WALK_COMPLETE);
        assert_int_equal(result.notes & KYMO_WALK_IN_GAP, 0);
        assert_true(pcs[1] - (uint64_t)(uintptr_t)calls_by_pointer < 16);
    }
    /* What no call returns to is no way back, whatever the code says. Of a pc that is new: what was
     * found out about another one is kept. */
    entry_offset = 13;
    not_called(walk_at_entry);
    assert_int_equal(walked, 1);
    assert_int_equal(result.end, KYMO_WALK_NO_ROW);
    assert_true(result.notes & KYMO_WALK_IN_GAP);
}

/* Its CFA is 8 above the word that lies 8 above the stack pointer. */
void keeps_its_cfa(void);
__asm__(".text\n"
        ".globl keeps_its_cfa\n.type keeps_its_cfa, @function\nkeeps_its_cfa:\n"
        ".cfi_startproc\n .cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8\n"
        "nop\n nop\n ret\n .cfi_endproc\n"
        ".size keeps_its_cfa, . - keeps_its_cfa\n");

/* What was found out about the place of a sample is kept as well as about places to return to. */
static void a_row_is_looked_up_once(void **state)
{
    (void)state;
    static struct kymo_row_slot slots[1024] __attribute__((aligned(32)));
    static struct kymo_walker walker;
    memset(slots, 0, sizeof slots); /* there are several rounds of all tests */
    assert_int_equal(kymo_walker_init(&walker, slots, KYMO_ARRAY_LEN(slots)), KYMO_OK);
    for (int round = 0; round < 2; round++) {
        struct kymo_stack_bounds bounds = help_bounds();
        volatile uint64_t frame[2] = {0, (uint64_t)(uintptr_t)__builtin_dwarf_cfa() - 8};
        struct kymo_regs regs;
        kymo_regs_here(&regs);
        regs.gpr[KYMO_REG_SP] = (uint64_t)(uintptr_t)frame;
        regs.ip = (uint64_t)(uintptr_t)keeps_its_cfa;
        walked = kymo_unwind_walk(&walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
        assert_true(walked > 3);
        assert_int_equal(result.end, KYMO_WALK_COMPLETE);
        assert_true(pcs[1] == (uint64_t)(uintptr_t)__builtin_return_address(0));
        assert_int_equal(result.notes & KYMO_WALK_BY_INTERPRETER,
                         round == 0 ? KYMO_WALK_BY_INTERPRETER : 0);
    }
}

/* What lies where a return address belongs, and is none, is no frame: the word before it may have
 * been written over. */
static void a_word_that_is_no_code_is_no_frame(void **state)
{
    (void)state;
    uint64_t *data = calloc(64, sizeof *data);
    assert_non_null(data);
    struct kymo_stack_bounds bounds = help_bounds();
    volatile uint64_t words[2] = {(uint64_t)(uintptr_t)(data + 32), 0};
    volatile uint64_t frame[2] = {0, (uint64_t)(uintptr_t)words};
    struct kymo_regs regs;
    kymo_regs_here(&regs);
    regs.gpr[KYMO_REG_SP] = (uint64_t)(uintptr_t)frame;
    regs.gpr[KYMO_REG_FP] = 1;
    regs.ip = (uint64_t)(uintptr_t)keeps_its_cfa;
    walked = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    assert_int_equal(walked, 1);
    assert_int_equal(result.end, KYMO_WALK_NO_MODULE);
    free(data);
}

/* A walk that comes to ld.so's entry code (as constructors do) has come to the end. */
static void loader_entry_is_the_end(void **state)
{
    uint64_t base = getauxval(AT_BASE);
    assert_true(base != 0);
    uint64_t start = base + ((const Elf64_Ehdr *)(uintptr_t)base)->e_entry;
    uint64_t stack[8] = {0};
    struct kymo_stack_bounds bounds = {(uint64_t)(uintptr_t)stack,
                                       (uint64_t)(uintptr_t)(stack + 8)};
    struct kymo_regs regs = {.ip = start + 48};
    (void)state;
    regs.gpr[KYMO_REG_SP] = bounds.lo;
    assert_int_equal(kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, 8, 0, &result), 1);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
}

static uint64_t constructor_frames;
static enum kymo_walk_end constructor_end;

__attribute__((constructor)) static void walk_in_constructor(void)
{
    /* A constructor of the program itself runs under main's caller; those of libraries under ld.so.
     */
    struct kymo_regs regs;
    struct kymo_stack_bounds bounds = help_bounds();
    if (kymo_walker_init(&help_walker, NULL, 0) != KYMO_OK)
        return;
    kymo_regs_here(&regs);
    constructor_frames =
        kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    constructor_end = result.end;
}

/* Of a library that this program is linked with: unwind_constructor.c. */
extern enum kymo_walk_end library_constructor_end;
extern uint64_t library_constructor_frames;

static void constructors(void **state)
{
    (void)state;
    assert_int_equal(library_constructor_end, KYMO_WALK_COMPLETE);
    assert_true(library_constructor_frames >= 3);
    assert_int_equal(constructor_end, KYMO_WALK_COMPLETE);
    assert_true(constructor_frames >= 3);
}

/* A call of NULL: the pc says nothing, and nothing is invented. */
static void null_pc(void **state)
{
    struct kymo_stack_bounds bounds = help_bounds();
    struct kymo_regs regs;
    (void)state;
    kymo_regs_here(&regs);
    regs.ip = 0;
    regs.gpr[KYMO_REG_FP] = 1;
    assert_int_equal(kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, 8, 0, &result), 1);
    assert_int_equal(result.end, KYMO_WALK_NO_MODULE);
}

/* ---- while a library is being closed ---- */

static void closing(void **state)
{
    struct kymo_stack_bounds bounds = help_bounds();
    struct kymo_regs regs;
    (void)state;
    kymo_walker_new_generation(&help_walker); /* nothing is cached */
    help_walker.stable_count = 0;
    kymo_regs_here(&regs);
    struct kymo_regs again = regs;
    assert_int_equal(
        kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, 8, KYMO_WALK_WHILE_CLOSING, &result),
        1);
    assert_int_equal(result.end, KYMO_WALK_NO_ROW);
    assert_true(result.notes & KYMO_WALK_CLOSING_REFUSED);
    kymo_walker_init_stable(&help_walker);
    assert_true(help_walker.stable_count >= 4);
    for (uint32_t i = 1; i < help_walker.stable_count; i++)
        assert_true(help_walker.stable[i - 1].hi <= help_walker.stable[i].lo);
    regs = again;
    size_t n = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES,
                                KYMO_WALK_WHILE_CLOSING, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_true(n >= 4);
}

/* ---- the cache ---- */

static void cache_forgets(void **state)
{
    struct kymo_row_slot slots[16] = {{0}};
    uint64_t key = kymo_generation_key(7);
    uint64_t row = 16ull << 44 | KYMO_ROW_KIND_SP;
    (void)state;
    for (uint64_t pc = 0; pc < 64; pc++) /* zeroed memory is empty, in any generation */
        assert_int_equal(kymo_row_cache_get(slots, kymo_row_set_mask(15),
                                            kymo_generation_key((uint32_t)pc), pc, 0),
                         KYMO_ROW_NONE);
    kymo_row_cache_put(slots, kymo_row_set_mask(15), key, 0x1235, 1, row);
    assert_int_equal(kymo_row_cache_get(slots, kymo_row_set_mask(15), key, 0x1235, 1), row);
    assert_int_equal(kymo_row_cache_get(slots, kymo_row_set_mask(15), key, 0x1235, 0),
                     KYMO_ROW_NONE);
    assert_int_equal(
        kymo_row_cache_get(slots, kymo_row_set_mask(15), kymo_generation_key(8), 0x1235, 1),
        KYMO_ROW_NONE);
    kymo_row_slot_of(slots, kymo_row_set_mask(15), 0x1235)->row ^= 1ull
                                                                   << 44; /* a writer in between */
    assert_int_equal(kymo_row_cache_get(slots, kymo_row_set_mask(15), key, 0x1235, 1),
                     KYMO_ROW_NONE);
}

static void init_checks_sizes(void **state)
{
    static struct kymo_walker walker;
    struct kymo_row_slot slots[4];
    (void)state;
    assert_int_equal(kymo_walker_init(&walker, slots, 3), KYMO_E_INVALID);
    assert_int_equal(kymo_walker_init(&walker, NULL, 4), KYMO_E_INVALID);
    assert_int_equal(kymo_walker_init(&walker, slots, 4), KYMO_OK);
    assert_string_equal(kymo_walk_end_name(KYMO_WALK_COMPLETE), "complete");
    assert_string_equal(kymo_walk_end_name(KYMO_WALK_END_COUNT), "unknown");
}

/* Each test runs without a cache, then with an empty one, then with a warm one. */
static int without_cache(void **state)
{
    (void)state;
    return kymo_walker_init(&help_walker, NULL, 0);
}

static int with_cache(void **state)
{
    (void)state;
    return kymo_walker_init(&help_walker, help_cache, KYMO_ARRAY_LEN(help_cache));
}

int main(void)
{
    const struct CMUnitTest once[] = {
        cmocka_unit_test(constructors),
        cmocka_unit_test(cache_forgets),
        cmocka_unit_test(init_checks_sizes),
        cmocka_unit_test(closing),
    };
    const struct CMUnitTest walks[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(deep_recursion),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(trampolines_say_how_large_they_are),
        cmocka_unit_test(handler),
        cmocka_unit_test(handler_on_alternate_stack),
        cmocka_unit_test(inside_qsort),
        cmocka_unit_test(thread),
        cmocka_unit_test(aligned_frames),
        cmocka_unit_test(cfa_from_rbx),
        cmocka_unit_test(in_coroutine),
        cmocka_unit_test(unknown_stack_without_probe),
        cmocka_unit_test(through_made_code),
        cmocka_unit_test(gap_in_a_library),
        cmocka_unit_test(gap_at_an_entry),
        cmocka_unit_test(a_row_is_looked_up_once),
        cmocka_unit_test(a_word_that_is_no_code_is_no_frame),
        cmocka_unit_test(loader_entry_is_the_end),
        cmocka_unit_test(null_pc),
    };
    int failed = cmocka_run_group_tests(once, with_cache, NULL);
    failed += cmocka_run_group_tests(walks, without_cache, NULL);
    failed += cmocka_run_group_tests(walks, with_cache, NULL);
    failed += cmocka_run_group_tests(walks, NULL, NULL);
    return failed;
}
