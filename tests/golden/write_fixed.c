/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_fixed.c - writes the fixed profile to each of the files named: `write_fixed OUT...`; those
 * behind `--show=alloc`, live, peak or leaks show its heap.
 */
#include <stdio.h>
#include <string.h>

#include "fixed_profile.h"
#include "kymo/encode.h"

static const char *const shows[KYMO_ENCODE_COUNT] = {"auto", "time",  "alloc",  "live",
                                                     "peak", "leaks", "mapped", "growth"};

/* Whether it is an option, and not a file. */
static int set_show(const char *word, kymo_encode_options *options)
{
    if (strncmp(word, "--show=", 7) != 0)
        return 0;
    for (uint32_t i = 0; i < KYMO_ENCODE_COUNT; i++)
        if (strcmp(word + 7, shows[i]) == 0)
            options->show = i;
    return 1;
}

int main(int argc, char **argv)
{
    kymo_profile *p = fixed_profile();
    kymo_encode_options options = {.size = sizeof options, .replace = 1};
    kymo_error detail;
    int status = 0;
    options.flags = KYMO_ENCODE_ALL_COUNTERS;
    for (int i = 1; p && i < argc; i++)
        if (!set_show(argv[i], &options) &&
            kymo_encode_file(p, argv[i], &options, &detail) != KYMO_OK) {
            fprintf(stderr, "%s\n", detail.message);
            status = 1;
        }
    kymo_profile_destroy(p);
    return status;
}
