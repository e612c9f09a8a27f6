/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.c [PHASES] - changes the function it is in after every 20 ms of CPU time. Prints each
 * change when it is over, with its CLOCK_MONOTONIC time, one line of JSON each.
 */
#include "workload.h"

DEFINE_BURN(phase_red, 1)
DEFINE_BURN(phase_green, 2)
DEFINE_BURN(phase_blue, 3)
DEFINE_BURN(phase_white, 4)

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        burn_function *burn;
    } phases[] = {{"phase_red", phase_red},
                  {"phase_green", phase_green},
                  {"phase_blue", phase_blue},
                  {"phase_white", phase_white}};
    enum { KINDS = sizeof(phases) / sizeof(phases[0]), MOST = 100000 };
    size_t count = (size_t)number_argument(argc, argv, 1, 50);
    if (count > MOST)
        count = MOST;
    uint64_t *starts = calloc(count + 1, sizeof(*starts));
    must(starts != NULL, "calloc");
    for (size_t i = 0; i < count; i++) {
        starts[i] = clock_ns(CLOCK_MONOTONIC);
        burn_ns(phases[i % KINDS].burn, 20000000);
    }
    starts[count] = clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count; i++)
        printf("{\"phase\":\"%s\",\"start_ns\":%llu,\"end_ns\":%llu}\n", phases[i % KINDS].name,
               (unsigned long long)starts[i], (unsigned long long)starts[i + 1]);
    free(starts);
    return 0;
}
