/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs_own.c - a program with a malloc of its own, which nothing that is preloaded sees: built
 * with alloc_bump.c in it. It asks for so many MiB in blocks of 1 KiB.
 */
#include "workload.h"

int main(int argc, char **argv)
{
    uint64_t bytes = (uint64_t)(number_argument(argc, argv, 1, 32) * (1 << 20));
    for (uint64_t sum = 0; sum < bytes; sum += 1024) {
        char *block = malloc(1024);
        must(block != NULL, "malloc");
        memset(block, 1, 1024);
    }
    printf("{\"bytes\":%llu}\n", (unsigned long long)bytes);
    return 0;
}
