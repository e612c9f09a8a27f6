/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames whose CFA counts from a register that calls do not preserve, though the frame has called
 * something: assembly that knows its callee. libcrypto's AES-GCM keeps its caller's rsp in rax.
 */
#include "arch/context.h"
#include "unit.h"

#include <signal.h>
#include <string.h>

#include "unwind_help.h"

static struct kymo_stack_bounds bounds;
static struct kymo_walk_result result;
static struct help_trace expected;
static uint64_t pcs[HELP_MAX_FRAMES];
static size_t count;

/* keeper_REG puts its caller's rsp into REG, aligns its own stack anew, and calls a leaf that
 * leaves REG alone; there the trap lets the handler walk. */
#define KEEPER(reg)                                                             \
    void keeper_##reg(void);                                                    \
    __asm__(".text\n.globl keeper_" #reg "\n.type keeper_" #reg ", @function\n" \
            "keeper_" #reg ":\n"                                                \
            ".cfi_startproc\n"                                                  \
            "lea (%rsp), %" #reg "\n"                                           \
            ".cfi_def_cfa " #reg ", 8\n"                                        \
            "push %rbx\n"                                                       \
            ".cfi_offset rbx, -16\n"                                            \
            "sub $256, %rsp\n"                                                  \
            "and $-128, %rsp\n"                                                 \
            "xor %ebx, %ebx\n"                                                  \
            "call 1f\n"                                                         \
            "mov -8(%" #reg "), %rbx\n"                                         \
            ".cfi_restore rbx\n"                                                \
            "lea (%" #reg "), %rsp\n"                                           \
            ".cfi_def_cfa rsp, 8\n"                                             \
            "ret\n"                                                             \
            ".cfi_endproc\n"                                                    \
            ".size keeper_" #reg ", . - keeper_" #reg "\n"                      \
            "1:\n"                                                              \
            ".cfi_startproc\n"                                                  \
            "int3\n"                                                            \
            "ret\n"                                                             \
            ".cfi_endproc\n")
KEEPER(rax);
KEEPER(r9);
KEEPER(r11);

static void on_trap(int signo, siginfo_t *info, void *context)
{
    (void)signo, (void)info;
    struct kymo_regs regs;
    kymo_regs_from_ucontext(&regs, context);
    count = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    help_libgcc(&expected);
}

static void expect_equal_to_libgcc(void (*keeper)(void))
{
    keeper();
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    size_t from = help_find(&expected, pcs[0]);
    assert_int_equal(count, expected.n - from);
    assert_memory_equal(pcs, expected.pcs + from, count * sizeof *pcs);
}

static void a_caller_saved_register_is_believed(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    sigaction(SIGTRAP, &action, &before);
    bounds = help_bounds();
    assert_int_equal(kymo_walker_init(&help_walker, help_cache, KYMO_ROW_CACHE_SLOTS), KYMO_OK);
    for (int cold_then_hot = 0; cold_then_hot < 2; cold_then_hot++) {
        expect_equal_to_libgcc(keeper_rax);
        expect_equal_to_libgcc(keeper_r9);
        expect_equal_to_libgcc(keeper_r11);
    }
    sigaction(SIGTRAP, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_saved_register_is_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
