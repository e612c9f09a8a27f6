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
    uint64_t took_ns = burn_ns(burn_uncounted, (uint64_t)(burn_s * 1e9));
    printf("{\"uncounted\":%ld,\"burn_s\":%.6f}\n", uncounted, (double)took_ns / 1e9);
    return 0;
}
