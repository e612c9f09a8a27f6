/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopenloop.c [ROUNDS] - loads one of two plugins, lets it work and unloads it, in turn: the red
 * one for 2.3 ms of CPU time, the blue one for 1.1 ms, each up to half a millisecond more or less.
 * The two differ, so that names which are mixed up show. No two turns are alike: if they were, a
 * machine where both with their loading take a whole number of sampling periods would have each
 * sample at the same place. Prints one line of JSON: how often, and the CPU seconds of each
 * plugin's function.
 */
#include "plugin_host.h"
#include "workload.h"

int main(int argc, char **argv)
{
    const unsigned rounds = (unsigned)number_argument(argc, argv, 1, 200);
    uint64_t red_ns = 0, blue_ns = 0;
    uint32_t random = 1;
    for (unsigned i = 0; i < rounds; i++) {
        random = random * 1664525 + 1013904223;
        const uint64_t more_ns = (random >> 8) % 1000000;
        int failed = i % 2 ? plugin_run("plugin_blue.so", 600000 + more_ns, &blue_ns)
                           : plugin_run("plugin_red.so", 1800000 + more_ns, &red_ns);
        if (failed)
            return 1;
    }
    printf("{\"rounds\":%u,\"plugin_red\":%.6f,\"plugin_blue\":%.6f}\n", rounds,
           (double)red_ns / 1e9, (double)blue_ns / 1e9);
    return 0;
}
