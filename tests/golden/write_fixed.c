/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_fixed.c - writes the fixed profile to each of the files named: `write_fixed OUT...`; those
 * behind `--show=alloc`, live, peak or leaks show its heap, and those behind `--chunk=BYTES` are
 * JFR files of chunks of about that length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode/atomic_file.h"
#include "encode/jfr/jfr.h"
#include "fixed_profile.h"

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

static kymo_err write_chunks(const kymo_profile *p, const char *path, size_t bytes,
                             kymo_error *detail)
{
    kymo_atomic_file file;
    KYMO_TRY(kymo_atomic_file_open(&file, path, 1, detail));
    kymo_encoder encoder = {
        .profile = p, .sink = &file.sink, .detail = detail, .bytes = &file.bytes};
    kymo_err err = kymo_jfr_write_chunks(&encoder, bytes);
    if (err == KYMO_OK)
        return kymo_atomic_file_commit(&file);
    kymo_atomic_file_abandon(&file);
    return err;
}

int main(int argc, char **argv)
{
    kymo_profile *p = fixed_profile();
    kymo_encode_options options = {.size = sizeof options, .replace = 1};
    kymo_error detail;
    size_t chunk = 0; /* 0: the file is for its ending's encoder */
    int status = 0;
    options.flags = KYMO_ENCODE_ALL_COUNTERS;
    for (int i = 1; p && i < argc; i++) {
        if (strncmp(argv[i], "--chunk=", 8) == 0)
            chunk = strtoul(argv[i] + 8, NULL, 10);
        else if (!set_show(argv[i], &options) &&
                 (chunk ? write_chunks(p, argv[i], chunk, &detail)
                        : kymo_encode_file(p, argv[i], &options, &detail)) != KYMO_OK) {
            fprintf(stderr, "%s\n", detail.message);
            status = 1;
        }
    }
    kymo_profile_destroy(p);
    return status;
}
