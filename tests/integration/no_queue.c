/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_queue.c - may queue no signal at all, and ends well: the kernel makes a SIGIO, which ends a
 * program, of a real-time signal of a descriptor that finds no room.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    struct rlimit none = {0, 0};
    struct timespec cpu;
    if (setrlimit(RLIMIT_SIGPENDING, &none) != 0)
        return 2;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    } while (cpu.tv_sec == 0 && cpu.tv_nsec < 300000000);
    puts("ended well");
    return 0;
}
