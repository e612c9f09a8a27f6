/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manythreads.c [LIVE [SHORT [SECONDS]]] - LIVE threads that stay, each of which burns half a
 * millisecond in burn_live once a second, and SHORT threads a second that burn a fifth of one in
 * burn_short and end. Prints one line of JSON: the threads that ran, and the CPU seconds of both
 * kinds up to their last lines, of the main thread and of the process. What is missing in the
 * process's sum the kernel used for threads that had no line left.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "workload.h"

DEFINE_BURN(burn_live, 11)
DEFINE_BURN(burn_short, 7)

enum { LIVE_BURN_NS = 500000, SHORT_BURN_NS = 200000 };

static uint64_t end_ns;
static uint64_t rounds_live, rounds_short;
static atomic_uint_fast64_t live_cpu_ns, short_cpu_ns;
static pthread_barrier_t everybody_is_there;

static void sleep_until(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static void *run_live(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&everybody_is_there);
    uint64_t next = clock_ns(CLOCK_MONOTONIC);
    do {
        burn_live(rounds_live);
        next += 1000000000u;
        sleep_until(next < end_ns ? next : end_ns);
    } while (next < end_ns);
    live_cpu_ns += thread_cpu_ns();
    return NULL;
}

static void *run_short(void *unused)
{
    (void)unused;
    burn_short(rounds_short);
    short_cpu_ns += thread_cpu_ns();
    return NULL;
}

int main(int argc, char **argv)
{
    const unsigned live = (unsigned)number_argument(argc, argv, 1, 1000);
    const double short_a_second = number_argument(argc, argv, 2, 1000);
    const double seconds = number_argument(argc, argv, 3, 2);
    const unsigned shorts = (unsigned)(short_a_second * seconds);
    pthread_t *threads = calloc(live + 1, sizeof(*threads));
    pthread_attr_t small;
    must(threads != NULL, "calloc");
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&everybody_is_there, NULL, live + 1);
    rounds_live = rounds_for_ns(burn_live, LIVE_BURN_NS);
    rounds_short = rounds_for_ns(burn_short, SHORT_BURN_NS);
    end_ns = UINT64_MAX;
    for (unsigned i = 0; i < live; i++)
        must(pthread_create(&threads[i], &small, run_live, NULL) == 0, "pthread_create");
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    end_ns = start + (uint64_t)(seconds * 1e9);
    pthread_barrier_wait(&everybody_is_there);

    /* A machine that cannot keep up still makes every thread, later. Not in step with the kernel's
     * tick, which might never come while this thread runs, and samples nothing else by timers. */
    for (unsigned i = 0; i < shorts; i++) {
        pthread_t thread;
        double golden = i * 0.6180339887;
        double jitter = golden - (unsigned)golden;
        sleep_until(start + (uint64_t)((i + jitter) / short_a_second * 1e9));
        must(pthread_create(&thread, &small, run_short, NULL) == 0, "pthread_create");
        must(pthread_join(thread, NULL) == 0, "pthread_join");
    }
    for (unsigned i = 0; i < live; i++)
        pthread_join(threads[i], NULL);
    printf("{\"live\":%u,\"short\":%u,\"cpu_live\":%.6f,\"cpu_short\":%.6f,\"cpu_main\":%.6f,"
           "\"cpu\":%.6f}\n",
           live, shorts, (double)live_cpu_ns / 1e9, (double)short_cpu_ns / 1e9,
           (double)thread_cpu_ns() / 1e9, (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    free(threads);
    return 0;
}
