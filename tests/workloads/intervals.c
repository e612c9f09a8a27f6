/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intervals.c ROUNDS [PAUSE_MS [STEP_BYTES [FILE]]] - in each round a marker, an open interval
 * around it, CPU time in burn_round, and one block more that stays; then a pause. Ends early when
 * there is such a file. Prints a line of JSON: CPU seconds of the process and in burn_round,
 * rounds, and bytes that are live at the end.
 */
#include <unistd.h>

#include "kymo/marker.h"
#include "workload.h"

KYMO_CATEGORY(rounds_category, "Rounds", GREEN);

DEFINE_BURN(burn_round, 101)

static char *volatile newest; /* the others stay, too */

static KEPT void keep_block(size_t bytes)
{
    newest = malloc(bytes);
    must(newest != NULL, "malloc");
    newest[0] = 1;
}

int main(int argc, char **argv)
{
    const unsigned rounds = (unsigned)number_argument(argc, argv, 1, 10);
    const unsigned pause_ms = (unsigned)number_argument(argc, argv, 2, 20);
    const size_t step = (size_t)number_argument(argc, argv, 3, 4096);
    const char *end = argc > 4 ? argv[4] : NULL;
    uint64_t busy_ns = 0;
    unsigned i = 0;
    for (; i < rounds && !(end && access(end, F_OK) == 0); i++) {
        KYMO_SCOPE(rounds_category, "round");
        KYMO_MARKER(rounds_category, "tick");
        keep_block(step);
        busy_ns += burn_ns(burn_round, 5000000);
        usleep(pause_ms * 1000);
    }
    printf("{\"cpu\":%.6f,\"burn_round\":%.6f,\"rounds\":%u,\"live\":%llu}\n",
           (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9, (double)busy_ns / 1e9, i,
           (unsigned long long)(i * step));
    fflush(stdout);
    return 0;
}
