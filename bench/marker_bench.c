/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_bench.c ROUNDS [THREADS] - what one marker costs the thread that makes it, beside the bare
 * write of as many bytes to a ring of the thread's own, which is the floor; in ns of CPU time.
 * marker_count KIND N, of the same file - N of one kind in a session of its own, for callgrind.
 *
 * It is run under `kymo record`. Each kind is a function of its own that is called in a loop,
 * floors and an empty one alike, in batches that fit the session's buffer many times over; after
 * each the recorder has time to empty it. The batches of all kinds take turns. THREADS do the same
 * at once, each pinned to a CPU of its own. Lost markers are an error: what is not written costs
 * nothing.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kymo/marker.h"
#include "marker_session.h"

#if defined(__x86_64__)
#define TICKS() __builtin_ia32_rdtsc()
#else
#error "the floor reads the time-stamp counter"
#endif

enum {
    RING_BYTES = 4 << 20, /* stays in the last cache */
    RECORD_MOST = 4096,   /* one that begins at its end may lie behind it */
    BATCH = 8192,
    BATCH_OF_STACKS = 256,
    WARM_UP_ROUNDS = 3,
    DRAIN_NS = 30000000, /* the recorder looks every 20 ms */
    MOST_ROUNDS = 1000,
    MOST_THREADS = 2,
};

/* ---- the floor: a record and a timestamp, and the head that tells a reader ---- */

struct ring {
    unsigned char *base;
    uint64_t head;
};
static __thread struct ring ring;

static void ring_open(void)
{
    ring.base = mmap(NULL, RING_BYTES + RECORD_MOST, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ring.base == MAP_FAILED)
        exit(1);
    memset(ring.base, 1, RING_BYTES);
}

static inline uint64_t *ring_take(uint64_t head)
{
    return (uint64_t *)(ring.base + (head & (RING_BYTES - 1)));
}

static inline void ring_publish(uint64_t head)
{
    __atomic_store_n(&ring.head, head, __ATOMIC_RELEASE);
}

/* ---- what is measured ---- */

KYMO_CATEGORY(bench, "Bench", BLUE);
KYMO_CATEGORY_QUIET(off, "off", GREY);

#define TWO_WORDS(F) F(u64, a, NULL, INTEGER, 0) F(u64, b, NULL, INTEGER, 0)
KYMO_TYPE(two_words, "TwoWords", TWO_WORDS, KYMO_ALL_LABELS(two_words, "", a, ""));
#define SIX_WORDS(F)            \
    TWO_WORDS(F)                \
    F(u64, c, NULL, INTEGER, 0) \
    F(u64, d, NULL, INTEGER, 0) F(u64, e, NULL, INTEGER, 0) F(u64, f, NULL, INTEGER, 0)
KYMO_TYPE(six_words, "SixWords", SIX_WORDS, KYMO_ALL_LABELS(six_words, "", a, ""));
#define TYPED(F)                        \
    F(u16, status, NULL, INTEGER, 0)    \
    F(u64, bytes, NULL, BYTES, 0)       \
    F(literal, method, NULL, STRING, 0) \
    F(flow, flow, NULL, FLOW_ID, 0)
KYMO_TYPE(typed, "Typed", TYPED, KYMO_ALL_LABELS(typed, "", method, ""));
#define NUMBERS_TEXT(F)         \
    F(u32, a, NULL, INTEGER, 0) \
    F(u32, b, NULL, INTEGER, 0) \
    F(str, text, NULL, STRING, 0)
KYMO_TYPE(numbers_text, "NumbersText", NUMBERS_TEXT, KYMO_ALL_LABELS(numbers_text, "", text, ""));

KYMO_COUNTER(counted, bench, "Counted", TOTAL, NULL, BLUE);

static const char *volatile text = "/some/path/of/18.c";

#define OPERATION(name, ...)                                    \
    static __attribute__((noinline)) void do_##name(uint64_t i) \
    {                                                           \
        (void)i;                                                \
        __asm__ volatile("");                                   \
        __VA_ARGS__;                                            \
    }                                                           \
    static void run_##name(uint32_t n)                          \
    {                                                           \
        for (uint32_t i = 0; i < n; i++)                        \
            do_##name(i);                                       \
    }

OPERATION(empty, )
OPERATION(ring16, {
    uint64_t head = ring.head, *at = ring_take(head);
    at[0] = TICKS();
    at[1] = i;
    ring_publish(head + 16);
})
OPERATION(ring32, {
    uint64_t head = ring.head, *at = ring_take(head);
    at[0] = TICKS();
    at[1] = 1;
    at[2] = i;
    at[3] = 2;
    ring_publish(head + 32);
})
OPERATION(ring64, {
    uint64_t head = ring.head, *at = ring_take(head);
    at[0] = TICKS();
    at[1] = 1;
    for (int word = 2; word < 8; word++)
        at[word] = i;
    ring_publish(head + 64);
})
OPERATION(ring_text, {
    const char *from = text;
    size_t len = strlen(from);
    uint64_t head = ring.head, room = RING_BYTES - (head & (RING_BYTES - 1));
    size_t size = (24 + (len > 200 ? 200 : len) + 7) & ~(size_t)7;
    head += size > room ? room : 0;
    uint64_t *at = ring_take(head);
    at[0] = TICKS();
    at[1] = len << 32 | 1;
    at[2] = i;
    memcpy(at + 3, from, len > 200 ? 200 : len);
    ring_publish(head + size);
})
OPERATION(ring_scope, {
    uint64_t start = TICKS();
    __asm__ volatile("" ::: "memory");
    uint64_t head = ring.head, *at = ring_take(head);
    at[0] = TICKS();
    at[1] = 1;
    at[2] = start;
    at[3] = i;
    ring_publish(head + 32);
})

OPERATION(disabled, KYMO_MARKER_T(off, "off", two_words, .a = i, .b = 2))
OPERATION(now, __asm__ volatile("" ::"r"(kymo_now())))
OPERATION(instant16, KYMO_MARKER(bench, "instant"))
OPERATION(instant32, KYMO_MARKER_T(bench, "two words", two_words, .a = i, .b = 2))
OPERATION(instant64, KYMO_MARKER_T(bench, "six words", six_words, .a = i, .b = 2, .c = i, .d = i,
                                   .e = i, .f = i))
OPERATION(typed, KYMO_MARKER_T(bench, "typed", typed, .status = 200, .bytes = i,
                               .method = KYMO_LITERAL("GET"), .flow = i + 1))
OPERATION(text, KYMO_MARKER_TEXT(bench, "text", text))
OPERATION(numbers_text,
          KYMO_MARKER_T(bench, "text", numbers_text, .a = (uint32_t)i, .b = 2, .text = text))
OPERATION(format, KYMO_MARKER_FMT(bench, "format", "%d of %u at %p", (int)i, 5u, (void *)&ring))
OPERATION(scope, KYMO_SCOPE(bench, "scope"))
OPERATION(scope_typed, KYMO_SCOPE_T(bench, "scope", two_words, payload); payload.a = i)
OPERATION(scope_short, KYMO_SCOPE_MIN(bench, "scope", 1000000000))
OPERATION(interval, uint64_t id = KYMO_INTERVAL_BEGIN(bench, "interval");
          KYMO_INTERVAL_END(bench, "interval", id))
OPERATION(stack, KYMO_MARKER_OPT(bench, "stack", KYMO_OPTIONS(.stack = KYMO_STACK_HERE)))
OPERATION(label, KYMO_LABEL_SCOPE("request_id", i))
OPERATION(counter, KYMO_COUNT(counted, 1))

static const struct kind {
    const char *name;
    const char *floor;
    void (*run)(uint32_t n);
    uint32_t batch;
} kinds[] = {
#define KIND(name, floor, batch)         \
    {                                    \
#name, #floor, run_##name, batch \
    }
    KIND(empty, empty, BATCH),
    KIND(ring16, ring16, BATCH),
    KIND(ring32, ring32, BATCH),
    KIND(ring64, ring64, BATCH),
    KIND(ring_text, ring_text, BATCH),
    KIND(ring_scope, ring_scope, BATCH),
    KIND(disabled, empty, BATCH),
    KIND(now, empty, BATCH),
    KIND(instant16, ring16, BATCH),
    KIND(instant32, ring32, BATCH),
    KIND(instant64, ring64, BATCH),
    KIND(typed, ring64, BATCH),
    KIND(text, ring_text, BATCH),
    KIND(numbers_text, ring_text, BATCH),
    KIND(format, ring64, BATCH),
    KIND(scope, ring_scope, BATCH),
    KIND(scope_typed, ring_scope, BATCH),
    KIND(scope_short, ring_scope, BATCH),
    KIND(interval, ring_scope, BATCH),
    KIND(stack, ring32, BATCH_OF_STACKS),
    KIND(label, ring_scope, BATCH),
    KIND(counter, ring16, BATCH),
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

/* ---- measuring ---- */

static double ns[MOST_THREADS][KINDS][MOST_ROUNDS];
static pthread_barrier_t together;
static uint32_t rounds, threads = 1;

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* To the number-th of the CPUs that we may use. */
static void pin(uint32_t number)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof(all), &all);
    number %= (uint32_t)CPU_COUNT(&all);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all) || number-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
        return;
    }
}

static void *measure(void *argument)
{
    uint32_t self = *(const uint32_t *)argument;
    pin(self);
    ring_open();
    for (uint32_t round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
        for (uint32_t i = 0; i < KINDS; i++) {
            /* Each round begins with another one. */
            uint32_t k = (round + i) % KINDS;
            nanosleep(&(struct timespec){.tv_nsec = DRAIN_NS}, NULL);
            pthread_barrier_wait(&together);
            uint64_t begun = cpu_ns();
            kinds[k].run(kinds[k].batch);
            uint64_t ended = cpu_ns();
            if (round >= WARM_UP_ROUNDS)
                ns[self][k][round - WARM_UP_ROUNDS] =
                    (double)(ended - begun) / (double)kinds[k].batch;
        }
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_results(void)
{
    for (uint32_t k = 0; k < KINDS; k++) {
        double all[MOST_THREADS * MOST_ROUNDS];
        for (uint32_t t = 0; t < threads; t++)
            memcpy(all + t * rounds, ns[t][k], rounds * sizeof(double));
        uint32_t n = threads * rounds;
        qsort(all, n, sizeof(*all), compare);
        printf("marker threads=%u kind=%s floor=%s ns=%.3f least=%.3f quartiles=%.3f-%.3f\n",
               threads, kinds[k].name, kinds[k].floor, all[n / 2], all[0], all[n / 4],
               all[n * 3 / 4]);
    }
}

static int count(const char *name, uint32_t n)
{
    if (!KYMO_IS_ON(bench))
        return 1;
    ring_open();
    for (uint32_t k = 0; k < KINDS; k++) {
        if (strcmp(kinds[k].name, name) == 0) {
            kinds[k].run(n);
            return 0;
        }
    }
    return 2;
}

int main(int argc, char **argv)
{
    if (marker_session_open)
        return argc == 3 && marker_session_open(&kymo_mark_link_) == 0
                   ? count(argv[1], (uint32_t)strtoul(argv[2], NULL, 10))
                   : 2;
    if (!KYMO_IS_ON(bench) || KYMO_IS_ON(off)) {
        fprintf(stderr, "marker_bench: run me under kymo record\n");
        return 1;
    }
    rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    if (rounds == 0 || rounds > MOST_ROUNDS || threads == 0 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: marker_bench ROUNDS [THREADS]\n");
        return 2;
    }
    pthread_t others[MOST_THREADS];
    uint32_t numbers[MOST_THREADS] = {0, 1};
    pthread_barrier_init(&together, NULL, threads);
    for (uint32_t t = 1; t < threads; t++) {
        if (pthread_create(&others[t], NULL, measure, &numbers[t]) != 0)
            return 1;
    }
    measure(&numbers[0]);
    for (uint32_t t = 1; t < threads; t++)
        pthread_join(others[t], NULL);
    print_results();
    struct kymo_mark_stats stats = {.size = sizeof(stats)};
    int err = kymo_mark_link_.calls->stats(&stats);
    printf("marker stats=%d written=%llu lost=%llu\n", err, (unsigned long long)stats.written,
           (unsigned long long)stats.lost);
    return err != 0 || stats.lost != 0;
}
