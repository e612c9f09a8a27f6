/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_thread.c MAIN THREAD NEXT - uses so many milliseconds of CPU time in its main thread, then
 * in another one, which becomes this program again, with NEXT to use: milliseconds. Of that image
 * it is the main thread, and its CPU clock goes on.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../workloads/workload.h"

static char **arguments;

static void burn(const char *ms)
{
    const uint64_t end = thread_cpu_ns() + strtoull(ms, NULL, 10) * 1000000u;
    while (thread_cpu_ns() < end)
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
