/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - what the programs with known truth share: clocks, and functions that burn CPU time.
 *
 * The truth is what a program measures of itself with the kernel's CPU clocks, between two calls of
 * a burning function: reading such a clock is a system call, so a burning function makes none and
 * its caller gives it enough to do (tens of microseconds) that the readings are lost in it.
 */
#ifndef KYMO_TESTS_WORKLOAD_H
#define KYMO_TESTS_WORKLOAD_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLICE = 20000 }; /* iterations, some 30 us on a processor of today */

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t thread_cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Keeps the results of burning, so that no compiler can leave it out. */
static volatile uint64_t burnt;

/* A function that stays one, under its own name: neither inlined nor cloned for some argument. */
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif

/* Defines a function of this name that is busy for that many iterations, one multiplication after
 * the other. The salt must differ from function to function: gcc makes one of two that are alike.
 */
#define DEFINE_BURN(name, salt)                              \
    static KEPT void name(uint64_t rounds)                   \
    {                                                        \
        uint64_t x = burnt + (salt);                         \
        for (uint64_t i = 0; i < rounds; i++)                \
            x = x * 6364136223846793005u + (2 * (salt) + 1); \
        burnt = x;                                           \
    }

typedef void burn_function(uint64_t rounds);

/* Burns at least that much of the calling thread's CPU time and returns how much it was. The clock
 * is read a few times only, since engines without events show readings with too much time: most of
 * it is burnt in one call, whose size comes from the speed of those before.
 */
static inline uint64_t burn_ns(burn_function *burn, uint64_t ns)
{
    uint64_t start = thread_cpu_ns();
    uint64_t used = 0, done = 0, rounds = SLICE;
    for (;;) {
        burn(rounds);
        done += rounds;
        used = thread_cpu_ns() - start;
        if (used >= ns)
            return used;
        /* What is left and a little more, lest many small steps follow; at first less than that,
         * since a short step tells the speed badly. In integers: constants would lie in .rodata,
         * which hazard_code.c makes unreadable together with .eh_frame. */
        uint64_t rounds_per_us = done * 1000 / (used ? used : 1);
        uint64_t left = rounds_per_us * ((ns - used) / 1000) / 100 * 101;
        rounds = left < SLICE ? SLICE / 4 : left > 16 * done ? 16 * done : left;
    }
}

/* How many iterations of burn take that long, by the fastest of several tries. */
static inline uint64_t rounds_for_ns(burn_function *burn, uint64_t ns)
{
    uint64_t fastest = UINT64_MAX;
    for (int try = 0; try < 8; try++) {
        uint64_t start = thread_cpu_ns();
        burn(SLICE);
        uint64_t took = thread_cpu_ns() - start;
        if (took < fastest)
            fastest = took;
    }
    return fastest ? ns * SLICE / fastest : SLICE;
}

/* Ends the program when something that it rests on failed; a workload has no other use for errors.
 */
static inline void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
        exit(3);
    }
}

/* The number in argv[at], or otherwise when there are fewer arguments. */
static inline double number_argument(int argc, char **argv, int at, double otherwise)
{
    return at < argc ? strtod(argv[at], NULL) : otherwise;
}

#endif
