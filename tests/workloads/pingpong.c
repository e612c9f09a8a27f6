/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingpong.c [SECONDS] - two threads send each other a byte through pipes, and burn 20 us of CPU
 * time, one, and 10 us, the other, for each. A third one just burns. Prints the CPU seconds of each
 * function, one line of JSON.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "workload.h"

DEFINE_BURN(burn_long, 5)
DEFINE_BURN(burn_short, 3)
DEFINE_BURN(burn_steady, 7)

static double end_s;

struct side {
    const char *name;
    burn_function *burn;
    uint64_t rounds;
    int in, out;
    uint64_t burnt_ns;
};

static void *play(void *argument)
{
    struct side *side = argument;
    char byte;
    while (read(side->in, &byte, 1) == 1) {
        uint64_t start = thread_cpu_ns();
        side->burn(side->rounds);
        side->burnt_ns += thread_cpu_ns() - start;
        if (write(side->out, &byte, 1) != 1)
            break;
        if ((double)clock_ns(CLOCK_MONOTONIC) / 1e9 > end_s)
            break;
    }
    close(side->out);
    return NULL;
}

static void *burn_alone(void *argument)
{
    uint64_t *burnt_ns = argument;
    uint64_t start = thread_cpu_ns();
    burn_ns(burn_steady, 500000000);
    *burnt_ns = thread_cpu_ns() - start;
    return NULL;
}

int main(int argc, char **argv)
{
    int there[2], back[2];
    pthread_t threads[3];
    uint64_t steady_ns;
    must(pipe(there) == 0 && pipe(back) == 0, "pipe");
    signal(SIGPIPE, SIG_IGN);
    struct side sides[] = {
        {"ping", burn_long, rounds_for_ns(burn_long, 20000), back[0], there[1], 0},
        {"pong", burn_short, rounds_for_ns(burn_short, 10000), there[0], back[1], 0},
    };
    end_s = (double)clock_ns(CLOCK_MONOTONIC) / 1e9 + number_argument(argc, argv, 1, 4.0);
    for (int i = 0; i < 2; i++) {
        must(pthread_create(&threads[i], NULL, play, &sides[i]) == 0, "pthread_create");
        pthread_setname_np(threads[i], sides[i].name);
    }
    must(pthread_create(&threads[2], NULL, burn_alone, &steady_ns) == 0, "pthread_create");
    pthread_setname_np(threads[2], "steady");
    must(write(back[1], "k", 1) == 1, "write");
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("{\"burn_long\":%.6f,\"burn_short\":%.6f,\"burn_steady\":%.6f}\n",
           (double)sides[0].burnt_ns / 1e9, (double)sides[1].burnt_ns / 1e9,
           (double)steady_ns / 1e9);
    return 0;
}
