/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopenloop.c [ROUNDS] - loads one of two plugins, lets it work and unloads it, in turn: the red
 * one for 2.3 ms of CPU time, the blue one for 1.1 ms. These differ, so that names which are mixed
 * up show, and no sampling period is a multiple of both together. Prints one line of JSON: how
 * often, and the CPU seconds of each plugin's function.
 */
#include "plugin_host.h"
#include "workload.h"

int main(int argc, char **argv)
{
    const unsigned rounds = (unsigned)number_argument(argc, argv, 1, 200);
    uint64_t red_ns = 0, blue_ns = 0;
    for (unsigned i = 0; i < rounds; i++) {
        int failed = i % 2 ? plugin_run("plugin_blue.so", 1100000, &blue_ns)
                           : plugin_run("plugin_red.so", 2300000, &red_ns);
        if (failed)
            return 1;
    }
    printf("{\"rounds\":%u,\"plugin_red\":%.6f,\"plugin_blue\":%.6f}\n", rounds,
           (double)red_ns / 1e9, (double)blue_ns / 1e9);
    return 0;
}
