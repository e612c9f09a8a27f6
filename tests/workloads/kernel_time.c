/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_time.c [SECONDS [random]] - divides its CPU time between work of its own, long calls of
 * the kernel, and page faults. Prints the shares as they really were, and what the kernel says of
 * its own, as one line of JSON. It never sleeps. "random": long calls alone, and nothing printed.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

enum { RANDOM_BYTES = 65536, FAULT_BYTES = 1 << 21, PAGE = 4096 };

DEFINE_BURN(burn_own, 7)

static char random_bytes[RANDOM_BYTES];

/* A signal cuts such a call short, which changes nothing here. Not getrandom(), which glibc 2.41
 * answers without the kernel where the vdso can. */
static KEPT void burn_random(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i += SLICE)
        burnt += (uint64_t)syscall(SYS_getrandom, random_bytes, sizeof random_bytes, 0);
}

static KEPT void burn_faults(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i += SLICE) {
        char *p =
            mmap(NULL, FAULT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(p != MAP_FAILED, "mmap");
        for (size_t at = 0; at < FAULT_BYTES; at += PAGE)
            p[at] = 1;
        munmap(p, FAULT_BYTES);
    }
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    uint64_t wanted_ns = (uint64_t)(number_argument(argc, argv, 1, 1.0) * 1e9);
    uint64_t own_ns = 0;
    uint64_t random_ns = 0;
    uint64_t faults_ns = 0;
    const uint64_t unit_ns = 970000;
    if (argc > 2 && strcmp(argv[2], "random") == 0) {
        burn_ns(burn_random, wanted_ns);
        return 0;
    }
    while (thread_cpu_ns() < wanted_ns) {
        own_ns += burn_ns(burn_own, 4 * unit_ns);
        random_ns += burn_ns(burn_random, 5 * unit_ns);
        faults_ns += burn_ns(burn_faults, unit_ns);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double all = (double)(own_ns + random_ns + faults_ns);
    double system = seconds(usage.ru_stime);
    printf("{\"burn_own\":%.5f,\"burn_random\":%.5f,\"burn_faults\":%.5f,\"system\":%.5f}\n",
           (double)own_ns / all, (double)random_ns / all, (double)faults_ns / all,
           system / (system + seconds(usage.ru_utime)));
    return 0;
}
