/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uncounted.c [SECONDS] - burns CPU time in one function, after the kernel has not counted some of
 * its arrivals on a CPU. Prints how many, and the CPU time of the function.
 */
#include "uncounted.h"
#include "workload.h"

DEFINE_BURN(burn_uncounted, 7)

int main(int argc, char **argv)
{
    long uncounted = uncounted_make(3);
    double burn_s = number_argument(argc, argv, 1, 1.0);
    uint64_t rounds = rounds_for_ns(burn_uncounted, (uint64_t)(burn_s * 1e9));
    /* In one go: a dispatcher sees more of a reading of the clock than there is. */
    uint64_t start_ns = thread_cpu_ns();
    burn_uncounted(rounds);
    uint64_t took_ns = thread_cpu_ns() - start_ns;
    printf("{\"uncounted\":%ld,\"burn_s\":%.6f}\n", uncounted, (double)took_ns / 1e9);
    return 0;
}
