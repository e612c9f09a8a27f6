/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.c [PHASES] - changes the function it is in after every 20 ms of CPU time. Prints each
 * phase when all are over, with its CLOCK_MONOTONIC times and its gaps, one line of JSON each: a
 * gap is CPU time that the kernel counts and in which nothing moved, as when the host took the CPU
 * away.
 */
#include "workload.h"

DEFINE_BURN(phase_red, 1)
DEFINE_BURN(phase_green, 2)
DEFINE_BURN(phase_blue, 3)
DEFINE_BURN(phase_white, 4)

enum { PHASE_NS = 20000000, GAP_NS = 300000 };

struct phase {
    uint64_t start_ns, cpu_ns, gaps_ns;
};

/* Reads the clock after each few microseconds: what one of these took too long is a gap. */
static void burn_phase(burn_function *burn, struct phase *phase)
{
    uint64_t start = thread_cpu_ns(), last = start;
    uint64_t slice = rounds_for_ns(burn, 20000);
    do {
        burn(slice);
        uint64_t now = thread_cpu_ns();
        if (now - last > GAP_NS)
            phase->gaps_ns += now - last;
        last = now;
    } while (last - start < PHASE_NS);
    phase->cpu_ns = last - start;
}

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
    struct phase *all = calloc(count + 1, sizeof(*all));
    must(all != NULL, "calloc");
    for (size_t i = 0; i < count; i++) {
        all[i].start_ns = clock_ns(CLOCK_MONOTONIC);
        burn_phase(phases[i % KINDS].burn, &all[i]);
    }
    all[count].start_ns = clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count; i++)
        printf("{\"phase\":\"%s\",\"start_ns\":%llu,\"end_ns\":%llu,\"cpu_ns\":%llu,"
               "\"gaps_ns\":%llu}\n",
               phases[i % KINDS].name, (unsigned long long)all[i].start_ns,
               (unsigned long long)all[i + 1].start_ns, (unsigned long long)all[i].cpu_ns,
               (unsigned long long)all[i].gaps_ns);
    free(all);
    return 0;
}
