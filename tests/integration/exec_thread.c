/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_thread.c MAIN THREAD NEXT - uses so many milliseconds of CPU time in its main thread, then
 * in another one, which becomes this program again, with NEXT to use: milliseconds. Of that image
 * it is the main thread, and its CPU clock goes on.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char **arguments;

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void burn(const char *ms)
{
    const uint64_t end = cpu_ns() + strtoull(ms, NULL, 10) * 1000000u;
    while (cpu_ns() < end)
        ;
}

static void *work(void *unused)
{
    burn(arguments[2]);
    execl("/proc/self/exe", "exec_thread", arguments[3], (char *)NULL);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    arguments = argv;
    if (argc != 2 && argc != 4)
        return 2;
    burn(argv[1]);
    if (argc == 2)
        return 0;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 2;
    pthread_join(thread, NULL);
    return 1;
}
