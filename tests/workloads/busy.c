/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy.c [THREADS [SECONDS]] - each thread burns that much CPU time in burn_busy, the first one
 * among them, and reads its clock only every few milliseconds: it is hardly ever in the kernel.
 * Prints one line of JSON: the CPU seconds of the process.
 */
#include <pthread.h>

#include "workload.h"

DEFINE_BURN(burn_busy, 97)

enum { MOST_THREADS = 64, READ_EVERY = 100 };

static uint64_t wanted_ns;

static void *be_busy(void *unused)
{
    (void)unused;
    for (uint64_t start = thread_cpu_ns(); thread_cpu_ns() - start < wanted_ns;)
        burn_busy(READ_EVERY * (uint64_t)SLICE);
    return NULL;
}

int main(int argc, char **argv)
{
    const int threads = (int)number_argument(argc, argv, 1, 1);
    pthread_t others[MOST_THREADS];
    wanted_ns = (uint64_t)(number_argument(argc, argv, 2, 2) * 1e9);
    for (int i = 1; i < threads && i < MOST_THREADS; i++)
        must(pthread_create(&others[i], NULL, be_busy, NULL) == 0, "pthread_create");
    be_busy(NULL);
    for (int i = 1; i < threads && i < MOST_THREADS; i++)
        must(pthread_join(others[i], NULL) == 0, "pthread_join");
    printf("{\"cpu\":%.6f}\n", (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    return 0;
}
