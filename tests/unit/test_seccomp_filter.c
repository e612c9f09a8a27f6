/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "base/attr.h"
#include "unit.h"

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define MACHINE BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch))
#define ARGUMENT BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args))
#define PLACE BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define IF(what, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what, then, otherwise)

#define ALLOWS(number, ...)                                  \
    ({                                                       \
        const struct sock_filter f_[] = {__VA_ARGS__};       \
        kymo_seccomp_allows(f_, KYMO_ARRAY_LEN(f_), number); \
    })

static void by_number(void **state)
{
    (void)state;
#define LIST                                                                         \
    MACHINE, IF(AUDIT_ARCH_X86_64, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), NUMBER,  \
        IF(SYS_read, 0, 1), RETURN(SECCOMP_RET_ALLOW), IF(SYS_write, 0, 1),          \
        RETURN(SECCOMP_RET_LOG), IF(SYS_close, 0, 1), RETURN(SECCOMP_RET_ERRNO | 1), \
        RETURN(SECCOMP_RET_TRAP)
    assert_true(ALLOWS(SYS_read, LIST));
    assert_true(ALLOWS(SYS_write, LIST));
    assert_false(ALLOWS(SYS_close, LIST));
    assert_false(ALLOWS(SYS_rt_sigreturn, LIST));
    assert_true(ALLOWS(SYS_rt_sigreturn, RETURN(SECCOMP_RET_ALLOW)));
    assert_false(ALLOWS(SYS_rt_sigreturn, RETURN(SECCOMP_RET_USER_NOTIF)));
}

static void by_range_and_arithmetic(void **state)
{
    (void)state;
#define RANGE                                                                               \
    NUMBER, BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 10), BPF_STMT(BPF_MISC | BPF_TAX, 0),       \
        BPF_STMT(BPF_STX, 3), BPF_STMT(BPF_LD | BPF_IMM, 0), BPF_STMT(BPF_LD | BPF_MEM, 3), \
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 5, 1, 0), RETURN(SECCOMP_RET_ALLOW),            \
        RETURN(SECCOMP_RET_KILL_THREAD)
    assert_true(ALLOWS(12, RANGE));
    assert_false(ALLOWS(15, RANGE));
    assert_false(ALLOWS(9, RANGE));
}

/* What is unknown before the call is made is taken to be against it. */
static void by_what_is_not_known(void **state)
{
    (void)state;
    assert_false(
        ALLOWS(15, ARGUMENT, IF(0, 0, 1), RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_ALLOW)));
    assert_false(ALLOWS(15, PLACE, IF(0, 0, 1), RETURN(SECCOMP_RET_ALLOW), RETURN(0)));
    assert_false(ALLOWS(15, ARGUMENT, BPF_STMT(BPF_RET | BPF_A, 0)));
    /* Read, and not asked about. */
    assert_true(ALLOWS(15, ARGUMENT, NUMBER, IF(15, 0, 1), RETURN(SECCOMP_RET_ALLOW), RETURN(0)));
}

static void what_is_no_filter(void **state)
{
    (void)state;
    assert_false(kymo_seccomp_allows(NULL, 0, 15));
    assert_false(ALLOWS(15, NUMBER));
    assert_false(ALLOWS(15, BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), RETURN(SECCOMP_RET_ALLOW)));
    assert_false(ALLOWS(15, BPF_STMT(BPF_ST, BPF_MEMWORDS), RETURN(SECCOMP_RET_ALLOW)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_number),
        cmocka_unit_test(by_range_and_arithmetic),
        cmocka_unit_test(by_what_is_not_known),
        cmocka_unit_test(what_is_no_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
