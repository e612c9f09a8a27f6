/* SPDX-License-Identifier: Apache-2.0 */
/*
 * has_library.h - whether libkymo-preload.so is in this process.
 */
#ifndef KYMO_TESTS_HAS_LIBRARY_H
#define KYMO_TESTS_HAS_LIBRARY_H

#include <stdio.h>
#include <string.h>

static inline int has_library(void)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, "libkymo-preload.so") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

#endif
