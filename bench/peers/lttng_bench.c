/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lttng_bench.c ROUNDS - what an event of LTTng-UST costs the thread that makes it, measured as
 * marker_bench.c measures ours. The events are recorded if a session daemon runs that wants them.
 */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "peers/lttng_event.h"

enum { BATCH = 8192, WARM_UP_ROUNDS = 3, MOST_ROUNDS = 1000, DRAIN_NS = 30000000 };

static const char *volatile text = "/some/path/of/18.c";

#define OPERATION(name, ...)                                    \
    static __attribute__((noinline)) void do_##name(uint64_t i) \
    {                                                           \
        (void)i;                                                \
        __asm__ volatile("");                                   \
        __VA_ARGS__;                                            \
    }                                                           \
    static void run_##name(uint32_t n)                          \
    {                                                           \
        for (uint32_t i = 0; i < n; i++)                        \
            do_##name(i);                                       \
    }

OPERATION(empty, )
OPERATION(disabled, lttng_ust_tracepoint(kymo_bench, off, i, 2))
OPERATION(instant32, lttng_ust_tracepoint(kymo_bench, two_words, i, 2))
OPERATION(numbers_text, lttng_ust_tracepoint(kymo_bench, numbers_text, (uint32_t)i, 2, text))

static const struct kind {
    const char *name;
    void (*run)(uint32_t n);
} kinds[] = {{"empty", run_empty},
             {"disabled", run_disabled},
             {"instant32", run_instant32},
             {"numbers_text", run_numbers_text}};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static double ns[KINDS][MOST_ROUNDS];

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (rounds == 0 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: lttng_bench ROUNDS\n");
        return 2;
    }
    for (uint32_t round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
        for (uint32_t i = 0; i < KINDS; i++) {
            uint32_t k = (round + i) % KINDS;
            nanosleep(&(struct timespec){.tv_nsec = DRAIN_NS}, NULL);
            uint64_t begun = cpu_ns();
            kinds[k].run(BATCH);
            uint64_t ended = cpu_ns();
            if (round >= WARM_UP_ROUNDS)
                ns[k][round - WARM_UP_ROUNDS] = (double)(ended - begun) / BATCH;
        }
    }
    for (uint32_t k = 0; k < KINDS; k++) {
        qsort(ns[k], rounds, sizeof(double), compare);
        printf("lttng kind=%s ns=%.3f least=%.3f\n", kinds[k].name, ns[k][rounds / 2], ns[k][0]);
    }
    return 0;
}
