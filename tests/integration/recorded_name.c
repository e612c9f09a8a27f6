/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded_name.c - a thread that names itself after it has begun, and that exit ends, has its name
 * in the recording. Records itself (as the program) and looks for the name in the file.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder/launch.h"

#define NAME "late-name"

static void *work(void *argument)
{
    struct timespec pause = {.tv_nsec = 50000000};
    (void)argument;
    nanosleep(&pause, NULL);
    pthread_setname_np(pthread_self(), NAME);
    for (volatile unsigned i = 0;; i++) {
    }
    return NULL;
}

static int program(void)
{
    pthread_t thread;
    struct timespec t = {.tv_nsec = 600000000};
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 2;
    nanosleep(&t, NULL);
    exit(0);
}

static int holds(const char *path, const char *what)
{
    static char bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        fclose(f);
    return memmem(bytes, n, what, strlen(what)) != NULL;
}

int main(int argc, char **argv)
{
    char spool[] = "/tmp/kymo-recorded-name-XXXXXX";
    char child[] = "program";
    char self[4096];
    char *child_argv[] = {self, child, NULL};
    kymo_options options;
    kymo_error why = {0};
    kymo_launch_result result;
    (void)argv;
    if (argc > 1)
        return program();
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    int fd = mkstemp(spool);
    if (n <= 0 || fd < 0)
        return 2;
    self[n] = '\0';
    close(fd);
    kymo_options_init(&options);
    kymo_launch_options launch = {.argv = child_argv,
                                  .options = &options,
                                  .spool_path = spool,
                                  .preload_path = KYMO_TEST_PRELOAD};
    kymo_err err = kymo_launch(&launch, &result, &why);
    int named = err == KYMO_OK && holds(spool, NAME);
    unlink(spool);
    if (err != KYMO_OK)
        fprintf(stderr, "%s\n", why.message);
    return !named;
}
