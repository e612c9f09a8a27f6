/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_tls.c - threads whose FS base is not libc's. Nothing may look for a variable of libc's, or
 * of a profiler's, there: memory in front of the base is not mapped.
 *
 * This file is compiled without stack protectors, whose word lies behind FS.
 */
#include <asm/prctl.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

DEFINE_BURN(burn_with_own_tls, 109)
DEFINE_BURN(burn_with_other_fs, 113)

enum { TLS_STACK = 64 << 10, PAGE = 4096, TLS_SIGNALS = 20 };
#define TLS_BURN_NS 150000000ull

static atomic_int tls_done;

/* The calling thread's CPU time, by a system call of our own: libc's would be a call of libc. */
static uint64_t raw_cpu_ns(void)
{
    struct timespec t = {0, 0};
    raw_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)(intptr_t)&t, 0, 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void burn_raw_ns(void (*burn)(uint64_t), uint64_t ns)
{
    for (uint64_t end = raw_cpu_ns() + ns; raw_cpu_ns() < end;)
        burn(SLICE);
}

static int run_with_own_tls(void *null)
{
    /* In libc's block there is a word of ours in front of the base, where here nothing is. */
    must(write(*(const int *)null, "x", 1) == 1, "write");
    burn_raw_ns(burn_with_own_tls, TLS_BURN_NS);
    atomic_store(&tls_done, 1);
    while (atomic_load(&tls_done) != 2)
        burn_with_own_tls(SLICE);
    return 0;
}

static char *map(size_t size)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(memory != MAP_FAILED, "mmap");
    return memory;
}

/* The page in front of it cannot be read. own: it begins as the ABI wants it. */
static char *other_tls(int own)
{
    char *memory = map(2 * PAGE);
    must(mprotect(memory, PAGE, PROT_NONE) == 0, "mprotect");
    char **base = (char **)(void *)(memory + PAGE);
    if (own)
        base[0] = base[2] = (char *)base;
    return (char *)base;
}

static void burn_with_fs(uint64_t fs, uint64_t libc)
{
    raw_call(SYS_arch_prctl, ARCH_SET_FS, (long)fs, 0, 0);
    burn_raw_ns(burn_with_other_fs, TLS_BURN_NS);
    /* One of the program's own, too. */
    raw_call(SYS_tgkill, raw_call(SYS_getpid, 0, 0, 0, 0), raw_call(SYS_gettid, 0, 0, 0, 0), SIGURG,
             0);
    raw_call(SYS_arch_prctl, ARCH_SET_FS, (long)libc, 0, 0);
}

int hazard_tls(int argc, char **argv)
{
    (void)argc, (void)argv;
    const int thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND |
                       CLONE_THREAD | CLONE_CHILD_CLEARTID | CLONE_SETTLS;
    static atomic_int gone = 1;
    uint64_t libc = 0;
    must(raw_call(SYS_arch_prctl, ARCH_GET_FS, (long)(intptr_t)&libc, 0, 0) == 0, "arch_prctl");
    burn_with_fs((uint64_t)(uintptr_t)other_tls(0), libc);
    burn_with_fs((uint64_t)(uintptr_t)other_tls(1), libc);
    burn_with_fs(0, libc);
    puts("burned with an FS base of its own, and with none");
    int null = open("/dev/null", O_WRONLY);
    must(null >= 0, "/dev/null");
    int tid = clone(run_with_own_tls, map(TLS_STACK) + TLS_STACK, thread, &null, NULL, other_tls(1),
                    &gone);
    must(tid > 0, "clone");
    for (int i = 0; i < TLS_SIGNALS; i++) {
        must(syscall(SYS_tgkill, getpid(), tid, SIGURG) == 0, "tgkill");
        usleep(1000);
    }
    while (atomic_load(&tls_done) == 0)
        usleep(1000);
    atomic_store(&tls_done, 2);
    for (int value; (value = atomic_load(&gone)) != 0;)
        usleep(1000);
    puts("a thread with TLS of its own worked");
    return 0;
}
