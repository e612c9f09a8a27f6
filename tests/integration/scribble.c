/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scribble.c SEED [WRITES] - finds the memory that it shares with the recorder and, while it works,
 * writes random numbers to random places of it: WRITES (100) every 30 us or so, for a quarter of a
 * second of CPU time. What that does to the record is its own affair, as long as the process goes
 * on.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "../workloads/workload.h"
#include "kymo/marker.h"

DEFINE_BURN(burn_beside, 103)

KYMO_CATEGORY(scribbles, "Scribbles", RED);
KYMO_COUNTER(written, scribbles, "Written", TOTAL, "numbers", RED);
#define BURST(F) F(str, what, "What", STRING, 0) F(u64, writes, "Writes", INTEGER, 0)
KYMO_TYPE(burst_of, "Burst", BURST, KYMO_ALL_LABELS(burst_of, "", what, ""));

/* Whatever a program can record beside samples. */
static void mark(uint64_t writes)
{
    KYMO_SCOPE(scribbles, "marking");
    KYMO_LABEL_SCOPE("writes", writes);
    KYMO_MARKER_T(scribbles, "burst", burst_of, .what = "over the session", .writes = writes);
    KYMO_MARKER_TEXT(scribbles, "text", "a text of some length, to be cut or lost");
    KYMO_MARKER_FMT(scribbles, "formatted", "%llu writes", (unsigned long long)writes);
    KYMO_COUNT(written, 1);
}

static atomic_int stop;

static void *work_beside(void *unused)
{
    (void)unused;
    while (!stop) {
        burn_beside(SLICE);
        mark(0);
    }
    return NULL;
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The mapping of this name that may be written: [*lo, *hi). */
static int find(const char *name, uint64_t *lo, uint64_t *hi)
{
    char line[4200];
    FILE *maps = fopen("/proc/self/maps", "r");
    int found = 0;
    must(maps != NULL, "/proc/self/maps");
    while (!found && fgets(line, sizeof line, maps))
        found =
            strstr(line, name) && strstr(line, " rw-s ") && sscanf(line, "%lx-%lx", lo, hi) == 2;
    fclose(maps);
    return found;
}

int main(int argc, char **argv)
{
    uint64_t lo = 0, hi = 0;
    uint64_t state = (uint64_t)number_argument(argc, argv, 1, 1) * 0x9e3779b97f4a7c15u;
    const int burst = (int)number_argument(argc, argv, 2, 100);
    int found = find("/memfd:kymo:", &lo, &hi);
    pthread_t beside[2];
    for (int i = 0; i < 2; i++)
        must(pthread_create(&beside[i], NULL, work_beside, NULL) == 0, "pthread_create");
    uint64_t start = thread_cpu_ns(), writes = 0;
    while (thread_cpu_ns() - start < 250000000) {
        for (int i = 0; found && i < burst; i++) {
            /* Half of the writes go to the first 64 KiB, where what matters most lies. */
            uint64_t span = next(&state) & 1 ? hi - lo : 65536;
            uint64_t at = lo + next(&state) % span / 8 * 8;
            uint64_t value = next(&state);
            /* Numbers that are nearly right do more harm than noise. */
            if (value & 1)
                value = value >> (next(&state) & 63);
            __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELAXED);
            writes++;
        }
        /* A burst at a time, so that something gets recorded in between. */
        burn_beside(SLICE);
        mark(writes);
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(beside[i], NULL);
    printf("scribbled %s\n", found && writes > 0 ? "over the session" : "over nothing");
    return 0;
}
