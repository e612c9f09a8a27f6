/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_chain.c CHAINS LENGTH - as many processes at once, each of which becomes this program again
 * LENGTH times, in the middle of being sampled. Says how many came to the end.
 *
 *   exec_chain link LEFT     one of them: the images that are still to come
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BURN_NS = 1000000, AT_THE_END = 42 };

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int link_of_chain(long left)
{
    char next[24];
    uint64_t end = cpu_ns() + BURN_NS;
    while (cpu_ns() < end)
        ;
    if (left == 0)
        return AT_THE_END;
    snprintf(next, sizeof next, "%ld", left - 1);
    execl("/proc/self/exe", "exec_chain", "link", next, (char *)NULL);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "link") == 0)
        return link_of_chain(atol(argv[2]));
    int chains = atoi(argv[1]);
    int whole = 0;
    for (int i = 0; i < chains; i++) {
        if (fork() == 0) {
            execl("/proc/self/exe", "exec_chain", "link", argv[2], (char *)NULL);
            _exit(1);
        }
    }
    int status;
    while (wait(&status) > 0) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == AT_THE_END)
            whole++;
        else
            printf("a chain ended with status %#x\n", (unsigned)status);
    }
    printf("%d of %d chains came to their end\n", whole, chains);
    return whole != chains;
}
