/* SPDX-License-Identifier: Apache-2.0 */
/* late_name.c - a thread that names itself "late-name" after it has begun, and that exit ends. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static void *work(void *argument)
{
    struct timespec pause = {.tv_nsec = 50000000};
    (void)argument;
    nanosleep(&pause, NULL);
    pthread_setname_np(pthread_self(), "late-name");
    for (volatile unsigned i = 0;; i++) {
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    struct timespec t = {.tv_nsec = 600000000};
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 2;
    nanosleep(&t, NULL);
    exit(0); /* which ends the other thread where it is */
}
