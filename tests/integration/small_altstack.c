/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_altstack.c BYTES [raw] - keeps an alternate stack for a fault that never comes, with a
 * guard below it, and burns CPU time. raw: by a system call that no library sees. BYTES 0:
 * what the kernel needs itself, and no more.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

enum { GUARD = 65536 };

int main(int argc, char **argv)
{
    char *memory =
        mmap(NULL, 2 * GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc < 2 || memory == MAP_FAILED || mprotect(memory, GUARD, PROT_NONE) != 0)
        return 2;
    stack_t stack = {.ss_sp = memory + GUARD, .ss_size = strtoul(argv[1], NULL, 10)};
    if (stack.ss_size == 0) /* less than the second the kernel refuses, on any processor */
        stack.ss_size = getauxval(AT_MINSIGSTKSZ) > 2048 ? getauxval(AT_MINSIGSTKSZ) : 2048;
    struct timespec cpu;
    if (argc > 2) {
        long result = SYS_sigaltstack;
        __asm__ volatile("syscall" : "+a"(result) : "D"(&stack), "S"(0l) : "rcx", "r11", "memory");
        if (result != 0)
            return 2;
    } else if (sigaltstack(&stack, NULL) != 0) {
        return 2;
    }
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    } while (cpu.tv_sec == 0 && cpu.tv_nsec < 200000000);
    return 0;
}
