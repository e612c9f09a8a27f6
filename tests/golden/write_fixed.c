/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_fixed.c - writes the fixed profile to each of the files named: `write_fixed OUT...`.
 */
#include <stdio.h>

#include "fixed_profile.h"
#include "kymo/encode.h"

int main(int argc, char **argv)
{
    kymo_profile *p = fixed_profile();
    kymo_encode_options options = {.size = sizeof options, .replace = 1};
    kymo_error detail;
    int status = 0;
    for (int i = 1; p && i < argc; i++)
        if (kymo_encode_file(p, argv[i], &options, &detail) != KYMO_OK) {
            fprintf(stderr, "%s\n", detail.message);
            status = 1;
        }
    kymo_profile_destroy(p);
    return status;
}
