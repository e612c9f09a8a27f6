/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.c [SECONDS] - two threads, each of which divides its CPU time 60 : 30 : 10 between three
 * functions. Prints the shares as they really were, one line of JSON for each thread.
 */
#include <pthread.h>

#include "workload.h"

DEFINE_BURN(burn_sixty, 60)
DEFINE_BURN(burn_thirty, 30)
DEFINE_BURN(burn_ten, 10)

struct part {
    uint64_t sixty_ns, thirty_ns, ten_ns;
    uint64_t cpu_ns; /* all of the thread's */
};

static uint64_t wanted_ns;

static void *run(void *argument)
{
    struct part *part = argument;
    /* A turn is no multiple of any sampling period that a test asks for, lest the two keep step. */
    const uint64_t unit_ns = 970000;
    while (thread_cpu_ns() < wanted_ns) {
        part->sixty_ns += burn_ns(burn_sixty, 6 * unit_ns);
        part->thirty_ns += burn_ns(burn_thirty, 3 * unit_ns);
        part->ten_ns += burn_ns(burn_ten, unit_ns);
    }
    part->cpu_ns = thread_cpu_ns();
    return NULL;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"split-left", "split-right"};
    struct part parts[2] = {{0}};
    pthread_t threads[2];
    wanted_ns = (uint64_t)(number_argument(argc, argv, 1, 1.0) * 1e9);
    for (int i = 0; i < 2; i++) {
        must(pthread_create(&threads[i], NULL, run, &parts[i]) == 0, "pthread_create");
        pthread_setname_np(threads[i], names[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        const struct part *p = &parts[i];
        double all = (double)(p->sixty_ns + p->thirty_ns + p->ten_ns);
        printf("{\"thread\":\"%s\",\"cpu_s\":%.6f,\"burn_sixty\":%.5f,\"burn_thirty\":%.5f,"
               "\"burn_ten\":%.5f}\n",
               names[i], (double)p->cpu_ns / 1e9, (double)p->sixty_ns / all,
               (double)p->thirty_ns / all, (double)p->ten_ns / all);
    }
    return 0;
}
