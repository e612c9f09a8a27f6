/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deepens SECONDS BYTES - burns a third of its CPU time near the beginning of its stack, and the
 * rest in a recursion that uses BYTES of it. Prints the CPU time of both, in seconds.
 */
#include "workload.h"

DEFINE_BURN(burn_shallow, 1)
DEFINE_BURN(burn_deep, 2)

static KEPT double descend(uint64_t ns, size_t bytes)
{
    volatile char room[512];
    memset((char *)room, 1, sizeof room);
    double burnt_s = bytes > sizeof room ? descend(ns, bytes - sizeof room)
                                         : (double)burn_ns(burn_deep, ns) / 1e9;
    return burnt_s + 0 * room[0];
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 100000;
    uint64_t third = (uint64_t)(seconds * 1e9 / 3);
    double shallow_s = (double)burn_ns(burn_shallow, third) / 1e9;
    double deep_s = descend(2 * third, bytes);
    printf("{\"burn_shallow\": %.9f, \"burn_deep\": %.9f}\n", shallow_s, deep_s);
    return 0;
}
