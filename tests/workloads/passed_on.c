/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passed_on.c [ROUNDS] - threads hand blocks to each other, which whoever has one resizes or frees.
 * Then all wait for a while. Prints a line of JSON: the number and the bytes of the blocks that are
 * there at the end, all of change_block's.
 */
#include <pthread.h>
#include <unistd.h>

#include "workload.h"

enum { THREADS = 4, PLACES = 256, PASSES = 50 };

static struct place {
    void *block;
    size_t bytes;
} places[PLACES];
static pthread_mutex_t locks[PLACES];
static unsigned rounds;

/* A new block, one of another size, or none any more. */
static KEPT void change_block(struct place *p, unsigned chance, size_t bytes)
{
    if (p->block && chance % 3 == 0) {
        free(p->block);
        *p = (struct place){NULL, 0};
        return;
    }
    void *block = p->block ? realloc(p->block, bytes) : malloc(bytes);
    must(block != NULL, "malloc");
    *p = (struct place){block, bytes};
}

static void *pass_on(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed * 7919 + 1;
    for (unsigned i = 0; i < rounds; i++, usleep(1000))
        for (unsigned k = 0; k < PASSES; k++) {
            random = random * 1103515245 + 12345;
            unsigned at = (random >> 8) % PLACES;
            pthread_mutex_lock(&locks[at]);
            change_block(&places[at], random >> 16, 100 + (random >> 20) % 4000);
            pthread_mutex_unlock(&locks[at]);
        }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    size_t count = 0, bytes = 0;
    rounds = (unsigned)number_argument(argc, argv, 1, 500);
    for (unsigned i = 0; i < PLACES; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, pass_on, (void *)i) == 0, "pthread_create");
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < PLACES; i++) {
        count += places[i].block != NULL;
        bytes += places[i].bytes;
    }
    usleep(600000);
    printf("{\"count\":%zu,\"live\":%zu}\n", count, bytes);
    fflush(stdout);
    return 0;
}
