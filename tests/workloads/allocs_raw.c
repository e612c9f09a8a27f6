/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs_raw.c - a program that takes so many MiB from the kernel by system calls of its own, says
 * when it has them, and stays until its standard input ends.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

static long map(size_t bytes)
{
    long result;
    register long flags __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS;
    register long fd __asm__("r8") = -1;
    register long offset __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_mmap), "D"(NULL), "S"(bytes),
                       "d"((long)(PROT_READ | PROT_WRITE)), "r"(flags), "r"(fd), "r"(offset)
                     : "rcx", "r11", "memory");
    return result;
}

int main(int argc, char **argv)
{
    size_t bytes = (size_t)number_argument(argc, argv, 1, 32) << 20;
    char byte;
    (void)signal(SIGINT, SIG_IGN);
    long made = map(bytes);
    must(made > 0, "mmap");
    memset((void *)made, 1, bytes);
    must(write(STDOUT_FILENO, "ready\n", 6) == 6, "write");
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return 0;
}
