/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replace.c LIBRARY NEW - loads LIBRARY, works in it, puts the file NEW in its place as a package
 * manager does, and works on in the old code.
 */
#include <dlfcn.h>

#include "../workloads/workload.h"

int main(int argc, char **argv)
{
    must(argc > 2, "usage: replace LIBRARY NEW");
    void *library = dlopen(argv[1], RTLD_NOW);
    must(library != NULL, "dlopen");
    void (*work)(uint64_t) = (void (*)(uint64_t))dlsym(library, "work");
    must(work != NULL, "dlsym");
    work(300000000);
    must(rename(argv[2], argv[1]) == 0, "rename");
    work(300000000);
    puts("worked before and after");
    return 0;
}
