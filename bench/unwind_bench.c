/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_bench.c - what a walk costs per frame: ours beside libunwind's unw_backtrace and glibc's
 * backtrace, on stacks of 31 and 101 frames of distinct functions without frame pointers.
 *
 * hot    the same stack again and again, as in a loop that is sampled
 * varied 64 stacks in turn, which begin at different functions
 * cold   nothing is remembered: our rows are interpreted from .eh_frame, or found in row tables.
 * glibc's backtrace remembers nothing anyway; libunwind's trace cache cannot be emptied, so it is
 * left out
 *
 * All in one run, the methods interleaved in short batches; CPU time of the thread; medians. One
 * line per result. libunwind.so exports a weak `backtrace` of its own, so glibc's is asked from
 * libc.so.6.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "arch/context.h"
#include "base/bytes.h"
#include "unwind/row_table.h"
#include "unwind/unwind.h"

#define BATCHES 61
#define FRAMES_MAX 256
#define STACKS 64

static struct kymo_row_slot cache[KYMO_ROW_CACHE_SLOTS];
static struct kymo_walker walker;
static struct kymo_walker walker_without_tables;
static struct kymo_stack_bounds bounds;
static int (*glibc_backtrace)(void **, int);

static uint64_t pcs[FRAMES_MAX];
static void *pointers[FRAMES_MAX];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the methods: each walks from its caller and gives the number of frames ---- */

static size_t walk_kymo(struct kymo_walker *w)
{
    struct kymo_regs regs;
    struct kymo_walk_result result;
    kymo_regs_here(&regs);
    size_t n = kymo_unwind_walk(w, &regs, &bounds, pcs, FRAMES_MAX, 0, &result);
    if (result.end != KYMO_WALK_COMPLETE) {
        fprintf(stderr, "incomplete: %s after %zu frames\n", kymo_walk_end_name(result.end), n);
        exit(1);
    }
    return n;
}

static size_t kymo_hot(void)
{
    return walk_kymo(&walker);
}

static size_t kymo_cold_tables(void)
{
    kymo_walker_new_generation(&walker);
    return walk_kymo(&walker);
}

static size_t kymo_cold_interpreted(void)
{
    kymo_walker_new_generation(&walker_without_tables);
    return walk_kymo(&walker_without_tables);
}

static size_t libunwind_hot(void)
{
    return (size_t)unw_backtrace(pointers, FRAMES_MAX);
}

static size_t glibc(void)
{
    return (size_t)glibc_backtrace(pointers, FRAMES_MAX);
}

/* ---- stacks: a ring of 100 functions, entered at any of them ---- */

static size_t (*at_leaf)(void);
static volatile size_t rounds_at_leaf;
static size_t frames_at_leaf;

static __attribute__((noinline)) void leaf(void)
{
    size_t n = 0;
    for (size_t i = rounds_at_leaf; i > 0; i--)
        n = at_leaf();
    frames_at_leaf = n;
}

typedef void link_function(unsigned depth);

/* Frames of different sizes, with no, one or three saved registers. */
#define LINK(n, next)                                           \
    static __attribute__((noinline)) void next(unsigned depth); \
    static __attribute__((noinline)) void n(unsigned depth)     \
    {                                                           \
        volatile char frame[8 + 24 * (__COUNTER__ % 9)];        \
        frame[0] = (char)depth;                                 \
        if (__COUNTER__ % 3 == 0)                               \
            __asm__ volatile("" ::: "rbx");                     \
        if (__COUNTER__ % 4 == 0)                               \
            __asm__ volatile("" ::: "rbx", "r12", "rbp");       \
        if (depth == 0)                                         \
            leaf();                                             \
        else                                                    \
            next(depth - 1);                                    \
        frame[1] = frame[0];                                    \
    }
/* clang-format off */
#define LINK10(t, u) \
    LINK(t##0, t##1) LINK(t##1, t##2) \
    LINK(t##2, t##3) LINK(t##3, t##4) \
    LINK(t##4, t##5) LINK(t##5, t##6) \
    LINK(t##6, t##7) LINK(t##7, t##8) \
    LINK(t##8, t##9) LINK(t##9, u##0)
/* clang-format on */
LINK10(f0, f1)
LINK10(f1, f2)
LINK10(f2, f3)
LINK10(f3, f4)
LINK10(f4, f5)
LINK10(f5, f6)
LINK10(f6, f7)
LINK10(f7, f8)
LINK10(f8, f9)
LINK10(f9, f0)

#define ROW10(t) t##0, t##1, t##2, t##3, t##4, t##5, t##6, t##7, t##8, t##9
static link_function *const ring[100] = {ROW10(f0), ROW10(f1), ROW10(f2), ROW10(f3), ROW10(f4),
                                         ROW10(f5), ROW10(f6), ROW10(f7), ROW10(f8), ROW10(f9)};

/* ---- measuring ---- */

struct method {
    const char *name;
    size_t (*walk)(void);
    size_t rounds; /* of one batch */
    double ns[BATCHES];
    size_t frames;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* One batch; the cost of calling into the stack and back is within it, and small against rounds. */
static void batch(struct method *m, unsigned depth, bool varied, int number)
{
    at_leaf = m->walk;
    double total = 0;
    size_t walks = 0;
    size_t frames = 0;
    for (unsigned stack = 0; stack < (varied ? STACKS : 1); stack++) {
        rounds_at_leaf = varied ? 1 : m->rounds;
        double begin = now_ns();
        if (!varied) {
            ring[0](depth);
        } else {
            for (size_t i = 0; i < m->rounds / STACKS + 1; i++)
                ring[(stack * 7 + i * 37) % 100](depth - (unsigned)(i % 8));
        }
        total += now_ns() - begin;
        walks += varied ? m->rounds / STACKS + 1 : m->rounds;
        frames = frames_at_leaf;
    }
    m->ns[number] = total / (double)walks / (double)frames;
    m->frames = frames;
}

static void measure(const char *title, struct method *methods, size_t count, unsigned depth,
                    bool varied)
{
    for (size_t i = 0; i < count; i++)
        batch(&methods[i], depth, varied, 0); /* warm */
    for (int number = 0; number < BATCHES; number++)
        for (size_t i = 0; i < count; i++)
            batch(&methods[i], depth, varied, number);
    for (size_t i = 0; i < count; i++) {
        qsort(methods[i].ns, BATCHES, sizeof methods[i].ns[0], compare);
        printf("unwind %s frames=%zu method=%s ns_per_frame=%.2f\n", title, methods[i].frames,
               methods[i].name, methods[i].ns[BATCHES / 2]);
    }
}

/* ---- row tables of all that lies on the stack ---- */

static kymo_err add_table(const char *path, uint64_t bias, struct kymo_address_range range)
{
    struct stat st;
    kymo_bytes bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return KYMO_E_IO;
    void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return KYMO_E_NOMEM;
    kymo_bytes_init(&bytes, 1u << 30);
    double begin = now_ns();
    struct kymo_row_table_stats stats;
    kymo_err err = kymo_row_table_build(file, (size_t)st.st_size, &bytes.sink, &stats, NULL);
    if (err == KYMO_OK)
        printf("unwind table file=%s build_ms=%.2f rows=%llu kib=%llu\n", path,
               (now_ns() - begin) / 1e6, (unsigned long long)stats.rows,
               (unsigned long long)stats.size_bytes >> 10);
    munmap(file, (size_t)st.st_size);
    if (err == KYMO_OK) /* the walker keeps the bytes */
        err = kymo_walker_table_add(&walker, range, bias + kymo_row_table_base(bytes.data),
                                    bytes.data, bytes.len);
    return err;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct kymo_address_range range = {UINT64_MAX, 0};
    (void)size;
    (void)data;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uint64_t lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uint64_t hi = lo + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            range.lo = lo < range.lo ? lo : range.lo;
            range.hi = hi > range.hi ? hi : range.hi;
        }
    }
    const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    if (path[0] == '/' && add_table(path, info->dlpi_addr, range) != KYMO_OK)
        fprintf(stderr, "no row table for %s\n", path);
    return 0;
}

/* Only builds and prints, for files named on the command line. */
static int build_tables(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (add_table(argv[i], 0, (struct kymo_address_range){0, 0}) != KYMO_OK)
            fprintf(stderr, "no row table for %s\n", argv[i]);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_attr_t attr;
    void *stack;
    size_t size;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &stack, &size);
    pthread_attr_destroy(&attr);
    bounds.lo = (uint64_t)(uintptr_t)stack;
    bounds.hi = bounds.lo + size;
    if (kymo_walker_init(&walker, cache, KYMO_ROW_CACHE_SLOTS) != KYMO_OK ||
        kymo_walker_init(&walker_without_tables, NULL, 0) != KYMO_OK)
        return 1;
    if (argc > 1)
        return build_tables(argc, argv);
    void *libc = dlopen("libc.so.6", RTLD_LAZY);
    void *symbol = libc ? dlsym(libc, "backtrace") : NULL;
    if (!symbol)
        return 1;
    memcpy(&glibc_backtrace, &symbol, sizeof symbol);
    dl_iterate_phdr(add_module, NULL);

    static struct method hot[] = {{.name = "kymo", .walk = kymo_hot, .rounds = 2000},
                                  {.name = "libunwind", .walk = libunwind_hot, .rounds = 2000},
                                  {.name = "glibc", .walk = glibc, .rounds = 50}};
    static struct method cold[] = {
        {.name = "kymo_interpreted", .walk = kymo_cold_interpreted, .rounds = 50},
        {.name = "kymo_tables", .walk = kymo_cold_tables, .rounds = 100},
        {.name = "glibc", .walk = glibc, .rounds = 50}};
    static const unsigned depths[] = {23, 93};
    for (size_t i = 0; i < 2; i++)
        measure("hot", hot, 3, depths[i], false);
    for (size_t i = 0; i < 2; i++)
        measure("varied", hot, 3, depths[i], true);
    for (size_t i = 0; i < 2; i++)
        measure("cold", cold, 3, depths[i], false);
    return 0;
}
