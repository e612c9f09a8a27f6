/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/thread_pointer.h"

#include <asm/prctl.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

#include "sys/raw.h"
#include "unit.h"

enum { FSGSBASE = 1 << 1 };

/* What it says while the base is another one: nothing of libc may be called meanwhile. */
static __attribute__((noinline)) int ask_with(uint64_t base)
{
    uint64_t libc;
    (void)kymo_syscall3(SYS_arch_prctl, ARCH_GET_FS, (long)(intptr_t)&libc, 0);
    (void)kymo_syscall3(SYS_arch_prctl, ARCH_SET_FS, (long)base, 0);
    int is_libc = kymo_thread_pointer_is_libc(1);
    (void)kymo_syscall3(SYS_arch_prctl, ARCH_SET_FS, (long)libc, 0);
    return is_libc;
}

static void *in_a_thread(void *unused)
{
    (void)unused;
    /* Without the instruction nothing is known without a call. */
    if (getauxval(AT_HWCAP2) & FSGSBASE)
        assert_false(kymo_thread_pointer_is_libc(0));
    assert_true(kymo_thread_pointer_is_libc(1));
    assert_true(kymo_thread_pointer_is_libc(0));
    return NULL;
}

static void *in_a_thread_that_is_known(void *unused)
{
    kymo_thread_pointer_add();
    assert_true(kymo_thread_pointer_is_libc(0));
    return unused;
}

static void threads_of_libc(void **state)
{
    (void)state;
    pthread_t thread;
    assert_true(kymo_thread_pointer_is_libc(0));
    kymo_thread_pointer_init(0);
    assert_true(kymo_thread_pointer_is_libc(1));
    assert_true(kymo_thread_pointer_is_libc(0));
    assert_int_equal(pthread_create(&thread, NULL, in_a_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, in_a_thread_that_is_known, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void other_bases(void **state)
{
    (void)state;
    static uint64_t block[64] __attribute__((aligned(64)));
    uint64_t here = (uint64_t)(uintptr_t)block;
    const uint64_t tid_at = 40;
    uint32_t tid = kymo_raw_gettid();
    kymo_thread_pointer_init(tid_at);
    assert_false(ask_with(0));
    assert_false(ask_with(4096)); /* not mapped */
    assert_false(ask_with(here));
    block[0] = block[2] = here;
    assert_false(ask_with(here)); /* not this thread's */
    assert_false(ask_with(here + 8));
    memcpy((char *)block + tid_at, &tid, sizeof tid);
    assert_true(ask_with(here));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_libc),
        cmocka_unit_test(other_bases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
