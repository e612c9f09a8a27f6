/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loads.c [again] - a program that takes long to load: it has an indirect function, whose choice
 * burns CPU time in the dynamic loader, before anything else of the program runs. Then main burns
 * 0.3 s in burn_loaded. With "again" it becomes itself once more. Prints one line of JSON: its CPU
 * time before its image (known with "again" alone), when main began, and what burn_loaded took.
 */
#include <unistd.h>

#include "workload.h"

DEFINE_BURN(burn_to_choose, 3)
DEFINE_BURN(burn_loaded, 5)

enum { CHOICE = 150000000, BURN_NS = 300000000 };

static int chosen(void)
{
    return 0;
}

/* The program is not relocated yet: this calls nothing of a library. Clang 14 does not see that it
 * is used. */
static __attribute__((used)) int (*choose(void))(void)
{
    burn_to_choose(CHOICE);
    return chosen;
}

int status(void) __attribute__((ifunc("choose")));

int main(int argc, char **argv)
{
    double began_s = (double)thread_cpu_ns() / 1e9;
    double before_s = argc > 2 ? strtod(argv[2], NULL) : 0;
    double burnt_s = (double)burn_ns(burn_loaded, BURN_NS) / 1e9;
    printf("{\"before\":%.6f,\"began\":%.6f,\"burnt\":%.6f}\n", before_s, began_s, burnt_s);
    fflush(stdout);
    if (argc == 2 && strcmp(argv[1], "again") == 0) {
        char now[32];
        snprintf(now, sizeof now, "%.6f", (double)thread_cpu_ns() / 1e9);
        execl(argv[0], argv[0], "at", now, (char *)NULL);
        return 1;
    }
    return status();
}
