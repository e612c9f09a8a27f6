/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_header.c - forks several times over; each child finds one page of shared memory of ours
 * before it is recorded, and the same address holds its own session's header afterwards: code that
 * was interrupted in between may go on to use it. Prints what is wrong; exit status 1.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buffer/session.h"

enum { GENERATIONS = 4, SESSIONS_MAX = 8, PATIENCE_NS = 2000000000 };

/* Where sessions are mapped; returns how many. */
static size_t find_sessions(uint64_t at[SESSIONS_MAX])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    size_t n = 0;
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:kymo:") && n < SESSIONS_MAX)
            at[n++] = strtoull(line, NULL, 16);
    if (maps)
        fclose(maps);
    return n;
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int fail(const char *what, int generation)
{
    printf("generation %d: %s\n", generation, what);
    return 1;
}

static int check_child(int generation)
{
    uint64_t at[SESSIONS_MAX], before;
    if (find_sessions(at) != 1)
        return fail("not one header before it is recorded", generation);
    before = at[0];
    size_t n;
    while ((n = find_sessions(at)) == 1 && cpu_ns() < PATIENCE_NS)
        ;
    const struct kymo_session *header = (const void *)(uintptr_t)before;
    int is_there = 0;
    for (size_t i = 0; i < n; i++)
        is_there |= at[i] == before;
    if (n < 2)
        return fail("it is not recorded", generation);
    if (!is_there)
        return fail("the header is not where it was", generation);
    if (header->magic != KYMO_SESSION_MAGIC || header->pid != (uint32_t)getpid())
        return fail("the header is not its own", generation);
    return 0;
}

static int descend(int generation)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int wrong = check_child(generation);
        if (!wrong && generation < GENERATIONS)
            wrong = descend(generation + 1);
        fflush(stdout);
        _exit(wrong);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return 1;
    return 0;
}

int main(void)
{
    return descend(1);
}
