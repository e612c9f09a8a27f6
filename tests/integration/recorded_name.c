/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded_name.c PROGRAM NAME - records the program and looks for a thread's name in the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/launch.h"

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
    kymo_options options;
    kymo_error why = {0};
    kymo_launch_result result;
    int fd = mkstemp(spool);
    if (argc != 3 || fd < 0)
        return 2;
    char *child_argv[] = {argv[1], NULL};
    kymo_options_init(&options);
    kymo_launch_options launch = {
        .argv = child_argv, .options = &options, .spool = fd, .preload_path = KYMO_TEST_PRELOAD};
    kymo_err err = kymo_launch(&launch, &result, &why);
    int named = err == KYMO_OK && holds(spool, argv[2]);
    unlink(spool);
    if (err != KYMO_OK)
        fprintf(stderr, "%s\n", why.message);
    return !named;
}
