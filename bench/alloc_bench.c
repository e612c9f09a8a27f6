/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_bench.c - alloc_bench tight|mix PAIRS: what a pair of malloc and free costs, in ns of CPU
 * time, with whatever allocator and profiler there is. It knows nothing of Kymo.
 *
 * tight: one thread, 16 to 128 bytes, freed at once, 8 frames deep: nothing but the allocator's
 *        fastest way. Batches of 100,000; the median and the least of them.
 * mix:   four threads, sizes as programs have them (lognormal, median 90 bytes, a hundredth above
 *        2 KiB), 25 frames deep, each block lives for the next 500 of its thread, every tenth is
 *        freed by another thread, the first bytes of each are written.
 *
 * Prints {"ns", "least", "peak_kib", "first_ns"}: first_ns is the first malloc of main.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 100000, MOST_BATCHES = 1000, SIZES = 4096, THREADS = 4, LIVES = 500 };

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Neither inlined nor a tail call. */
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif

static KEPT void deeper(int depth, void (*run)(void *), void *argument)
{
    if (depth > 0)
        deeper(depth - 1, run, argument);
    else
        run(argument);
    __asm__ volatile("" : : : "memory");
}

static KEPT void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "alloc_bench: %s\n", what);
        exit(3);
    }
}

/* ---- tight ---- */

struct tight {
    uint32_t batches;
    uint64_t ns[MOST_BATCHES];
};

/* To the CPU that it is on: a thread that moves pays for it. */
static void pin(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)sched_getcpu(), &cpus);
    must(sched_setaffinity(0, sizeof(cpus), &cpus) == 0, "sched_setaffinity");
}

static void run_tight(void *argument)
{
    pin();
    struct tight *tight = argument;
    for (uint32_t i = 0; i < tight->batches; i++) {
        uint64_t begun = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
        for (uint32_t k = 0; k < BATCH; k++) {
            void *block = malloc(16 + (k * 8 & 0x70));
            __asm__ volatile("" : "+r"(block) : : "memory");
            free(block);
        }
        tight->ns[i] = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* ---- mix ---- */

struct mixer {
    pthread_t thread;
    struct mixer *other;
    void *box; /* blocks for this thread to free, each with the next one in it */
    uint32_t pairs, seed;
    void *lives[LIVES];
};

static uint32_t sizes[SIZES];
static struct mixer mixers[THREADS];
static pthread_barrier_t all_are_done;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Box and Muller: exp of a normal variable, with a fixed seed. */
static void make_sizes(void)
{
    uint64_t state = 5;
    for (uint32_t i = 0; i < SIZES; i++) {
        double u = ((double)next_random(&state) + 1) / 2147483649.0;
        double v = (double)next_random(&state) / 2147483648.0;
        double bytes = 90 * exp(1.35 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
        sizes[i] = bytes < 8 ? 8 : bytes > 262144 ? 262144 : (uint32_t)bytes;
    }
}

static void put_into(struct mixer *other, void *block)
{
    void *first = __atomic_load_n(&other->box, __ATOMIC_RELAXED);
    do
        *(void **)block = first;
    while (!__atomic_compare_exchange_n(&other->box, &first, block, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

static void empty_box(struct mixer *self)
{
    void *block = __atomic_exchange_n(&self->box, NULL, __ATOMIC_ACQUIRE);
    while (block) {
        void *next = *(void **)block;
        free(block);
        block = next;
    }
}

static void run_mixer(void *argument)
{
    struct mixer *self = argument;
    for (uint32_t i = 0; i < self->pairs; i++) {
        uint32_t bytes = sizes[(i + self->seed) % SIZES];
        char *block = malloc(bytes);
        must(block != NULL, "malloc");
        memset(block, 1, bytes < 64 ? bytes : 64);
        void **place = &self->lives[i % LIVES];
        if (*place && i % 10 == 0)
            put_into(self->other, *place);
        else
            free(*place);
        *place = block;
        if (i % 64 == 0)
            empty_box(self);
    }
    for (uint32_t i = 0; i < LIVES; i++)
        free(self->lives[i]);
}

static void *begin_mixer(void *argument)
{
    deeper(25, run_mixer, argument);
    pthread_barrier_wait(&all_are_done);
    empty_box(argument);
    return NULL;
}

static double mix_ns(uint32_t pairs)
{
    make_sizes();
    must(pthread_barrier_init(&all_are_done, NULL, THREADS) == 0, "pthread_barrier_init");
    uint64_t begun = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (uint32_t i = 0; i < THREADS; i++) {
        mixers[i].other = &mixers[(i + 1) % THREADS];
        mixers[i].pairs = pairs / THREADS;
        mixers[i].seed = i * 1000;
        must(pthread_create(&mixers[i].thread, NULL, begin_mixer, &mixers[i]) == 0,
             "pthread_create");
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(mixers[i].thread, NULL);
    return (double)(cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - begun) / pairs;
}

/* Of this image: getrusage has what the process was before exec, too. */
static unsigned long peak_kib(void)
{
    unsigned long kib = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    must(status != NULL, "/proc/self/status");
    while (fgets(line, sizeof(line), status)) {
        if (sscanf(line, "VmHWM: %lu kB", &kib) == 1)
            break;
    }
    fclose(status);
    return kib;
}

int main(int argc, char **argv)
{
    uint64_t begun = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    void *first = malloc(100);
    __asm__ volatile("" : "+r"(first) : : "memory");
    uint64_t first_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
    free(first);
    uint32_t pairs = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 10 * BATCH;
    double ns, least;
    if (argc > 1 && strcmp(argv[1], "mix") == 0) {
        ns = least = mix_ns(pairs);
    } else {
        static struct tight tight;
        tight.batches = pairs / BATCH;
        if (tight.batches == 0)
            tight.batches = 1;
        if (tight.batches > MOST_BATCHES)
            tight.batches = MOST_BATCHES;
        deeper(8, run_tight, &tight);
        qsort(tight.ns, tight.batches, sizeof(*tight.ns), by_value);
        ns = (double)tight.ns[tight.batches / 2] / BATCH;
        least = (double)tight.ns[0] / BATCH;
    }
    printf("{\"ns\":%.3f,\"least\":%.3f,\"peak_kib\":%lu,\"first_ns\":%llu}\n", ns, least,
           peak_kib(), (unsigned long long)first_ns);
    return 0;
}
