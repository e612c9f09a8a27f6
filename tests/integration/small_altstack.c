/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_altstack.c BYTES [raw|early|forked] - keeps an alternate stack for a fault that never
 * comes, with a guard below it, and burns CPU time. raw: by a system call that no library sees;
 * early: before the constructors of all libraries; forked: in a child that has just begun. BYTES 0:
 * what the kernel needs itself, and no more.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GUARD = 65536 };

static void keep_stack(const char *bytes, int is_raw)
{
    char *memory =
        mmap(NULL, 2 * GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, GUARD, PROT_NONE) != 0)
        _exit(2);
    stack_t stack = {.ss_sp = memory + GUARD, .ss_size = strtoul(bytes, NULL, 10)};
    if (stack.ss_size == 0) /* less than the second the kernel refuses, on any processor */
        stack.ss_size = getauxval(AT_MINSIGSTKSZ) > 2048 ? getauxval(AT_MINSIGSTKSZ) : 2048;
    if (is_raw) {
        long result = SYS_sigaltstack;
        __asm__ volatile("syscall" : "+a"(result) : "D"(&stack), "S"(0l) : "rcx", "r11", "memory");
        if (result != 0)
            _exit(2);
    } else if (sigaltstack(&stack, NULL) != 0) {
        _exit(2);
    }
}

static int is(int argc, char **argv, const char *how)
{
    return argc > 2 && strcmp(argv[2], how) == 0;
}

static void begin_early(int argc, char **argv)
{
    if (is(argc, argv, "early"))
        keep_stack(argv[1], 0);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(int,
                                                                            char **) = begin_early;

int main(int argc, char **argv)
{
    struct timespec cpu;
    int status;
    if (argc < 2)
        return 2;
    if (is(argc, argv, "forked") && fork() > 0)
        return wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
    if (!is(argc, argv, "early"))
        keep_stack(argv[1], is(argc, argv, "raw"));
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    } while (cpu.tv_sec == 0 && cpu.tv_nsec < 200000000);
    return 0;
}
