/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy.c [THREADS [SECONDS [FILE]]] - each thread burns that much CPU time in burn_busy, the first
 * one among them, and reads its clock a few times only: it is hardly ever in the kernel. With FILE
 * it does so again and again until there is such a file.
 * Prints one line of JSON: the CPU seconds of the process, and those in burn_busy.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "workload.h"

DEFINE_BURN(burn_busy, 97)

enum { MOST_THREADS = 64 };

static uint64_t wanted_ns;
static const char *end;
static atomic_uint_fast64_t busy_ns;

static void *be_busy(void *unused)
{
    (void)unused;
    do
        busy_ns += burn_ns(burn_busy, wanted_ns);
    while (end && access(end, F_OK) != 0);
    return NULL;
}

int main(int argc, char **argv)
{
    const int threads = (int)number_argument(argc, argv, 1, 1);
    pthread_t others[MOST_THREADS];
    end = argc > 3 ? argv[3] : NULL;
    wanted_ns = (uint64_t)(number_argument(argc, argv, 2, 2) * 1e9);
    for (int i = 1; i < threads && i < MOST_THREADS; i++)
        must(pthread_create(&others[i], NULL, be_busy, NULL) == 0, "pthread_create");
    be_busy(NULL);
    for (int i = 1; i < threads && i < MOST_THREADS; i++)
        must(pthread_join(others[i], NULL) == 0, "pthread_join");
    printf("{\"cpu\":%.6f,\"burn_busy\":%.6f}\n", (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9,
           (double)busy_ns / 1e9);
    return 0;
}
