/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiters.c SECONDS WORKERS CALLS WAITERS [SLEEP_MS] - WAITERS threads that wait: for ever, or,
 * with SLEEP_MS, for so long again and again. Beside them WORKERS threads do CALLS rounds of work
 * together, or, if there are none, nothing happens for SECONDS. Prints the calls of a sleep that
 * ended early.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SPIN = 80000, STACK_BYTES = 64 << 10, MOST_WORKERS = 16 };

static long sleep_ms, calls_each;
static atomic_int over;
static atomic_long interrupted;
static sem_t there, never;

static void *work(void *sum)
{
    uint64_t x = 1;
    for (long i = 0; i < calls_each; i++)
        for (int j = 0; j < SPIN; j++)
            x = x * 6364136223846793005u + 1442695040888963407u;
    *(uint64_t *)sum = x;
    return NULL;
}

static void *wait_on(void *unused)
{
    const struct timespec nap = {sleep_ms / 1000, sleep_ms % 1000 * 1000000};
    sem_post(&there);
    while (!sleep_ms && !atomic_load(&over))
        sem_wait(&never);
    while (!atomic_load(&over))
        if (nanosleep(&nap, NULL) != 0 && errno == EINTR)
            atomic_fetch_add(&interrupted, 1);
    return unused;
}

static void must(int ok)
{
    if (!ok) {
        perror("waiters");
        exit(3);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: waiters SECONDS WORKERS CALLS WAITERS [SLEEP_MS]\n");
        return 2;
    }
    const long seconds = atol(argv[1]), workers = atol(argv[2]), waiters = atol(argv[4]);
    calls_each = workers ? atol(argv[3]) / workers : 0;
    sleep_ms = argc > 5 ? atol(argv[5]) : 0;
    pthread_t *threads = calloc((size_t)waiters + 1, sizeof(*threads)), busy[MOST_WORKERS];
    uint64_t sums[MOST_WORKERS];
    pthread_attr_t small;
    must(threads && workers <= MOST_WORKERS && sem_init(&there, 0, 0) == 0 &&
         sem_init(&never, 0, 0) == 0);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    for (long i = 0; i < waiters; i++)
        must(pthread_create(&threads[i], &small, wait_on, NULL) == 0);
    for (long i = 0; i < waiters; i++)
        sem_wait(&there);
    for (long i = 0; i < workers; i++)
        must(pthread_create(&busy[i], NULL, work, &sums[i]) == 0);
    for (long i = 0; i < workers; i++)
        pthread_join(busy[i], NULL);
    if (!workers) {
        struct timespec left = {seconds, 0};
        while (nanosleep(&left, &left) != 0)
            atomic_fetch_add(&interrupted, 1);
    }
    atomic_store(&over, 1);
    for (long i = 0; i < waiters; i++)
        sem_post(&never);
    for (long i = 0; i < waiters; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", interrupted);
    free(threads);
    return 0;
}
