/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_waits.c - a library with a thread of its own, which sleeps in it for as long as the
 * program lives.
 */
#include <pthread.h>
#include <unistd.h>

static void *sleep_in_library(void *unused)
{
    for (;;)
        (void)pause();
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleep_in_library, NULL) == 0)
        pthread_detach(thread);
}
