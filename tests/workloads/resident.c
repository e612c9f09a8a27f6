/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident.c - resident MODE FILE: has memory of known kinds, writes what it has into FILE, as one
 * JSON object, and waits to be killed.
 *
 *   blocks      of 16 bytes to 4 KiB, and some of 1 MiB, of which every second was never written to
 *   fragmented  a million small ones, every second of which was freed
 *   freed       the same, all of which were freed but for the last one
 *   mapped      mappings that two functions made, whole, half and sparse
 *   stacks      of threads that wait, and of some that have ended
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "workload.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

static struct {
    unsigned long long live, untouched, given, mapped_whole, mapped_half, mapped_sparse, stacks;
} truth;

/* ---- blocks ---- */

static uint64_t random_state = 88172645463325252u;

static uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static KEPT char *take(size_t bytes)
{
    char *block = malloc(bytes);
    must(block != NULL, "malloc");
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static void blocks(void)
{
    for (int i = 0; i < 60000; i++) {
        size_t bytes = 16 + random_word() % (4096 - 16);
        memset(take(bytes), 1, bytes);
        truth.live += bytes;
    }
    for (int i = 0; i < 64; i++) {
        char *block = take(MIB);
        truth.live += i % 2 ? 0 : MIB;
        truth.untouched += i % 2 ? MIB : 0;
        if (i % 2 == 0)
            memset(block, 1, MIB);
    }
}

enum { MANY = 1000000, SMALL = 100 };

static void free_of_many(int each)
{
    char **table = mmap(NULL, MANY * sizeof *table, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(table != MAP_FAILED, "mmap");
    for (int i = 0; i < MANY; i++) {
        table[i] = take(SMALL);
        memset(table[i], 1, SMALL);
    }
    for (int i = 0; i < MANY - 1; i += each) {
        free(table[i]);
        truth.given += SMALL;
    }
    truth.live = (unsigned long long)MANY * SMALL - truth.given;
    munmap(table, MANY * sizeof *table);
}

static void fragmented(void)
{
    free_of_many(2);
}

static void freed(void)
{
    free_of_many(1);
}

/* ---- mappings ---- */

#define DEFINE_MAP(name)                                                            \
    static KEPT char *name(size_t bytes)                                            \
    {                                                                               \
        char *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE,                      \
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);      \
        __asm__ volatile("# " #name : "+r"(made) : : "memory");                     \
        must(made != MAP_FAILED, "mmap");                                           \
        must(madvise(made, bytes, MADV_NOHUGEPAGE) == 0 || errno == EINVAL, #name); \
        return made;                                                                \
    }

DEFINE_MAP(map_whole)
DEFINE_MAP(map_half)
DEFINE_MAP(map_sparse)

static void mapped(void)
{
    memset(map_whole(64 * MIB), 1, 64 * MIB);
    memset(map_half(64 * MIB), 1, 32 * MIB);
    char *sparse = map_sparse(512 * MIB);
    for (size_t at = 0; at < 512 * MIB; at += 4 * MIB)
        sparse[at] = 1;
    truth.mapped_whole = 64 * MIB;
    truth.mapped_half = 32 * MIB;
    truth.mapped_sparse = 128 * (unsigned long long)sysconf(_SC_PAGESIZE);
}

/* ---- stacks ---- */

enum { WAITING = 16, ENDED = 16, STACK_BYTES = 256 * 1024 };

static pthread_barrier_t all_are_there;

static KEPT void use_stack(void)
{
    volatile char used[STACK_BYTES];
    for (size_t i = 0; i < sizeof used; i += 512)
        used[i] = 1;
}

static void *wait_there(void *forever)
{
    use_stack();
    pthread_barrier_wait(&all_are_there);
    while (forever)
        pause();
    return NULL;
}

static void begin(pthread_t *threads, int count, void *forever)
{
    must(pthread_barrier_init(&all_are_there, NULL, (unsigned)count + 1) == 0, "a barrier");
    for (int i = 0; i < count; i++)
        must(pthread_create(&threads[i], NULL, wait_there, forever) == 0, "a thread");
    pthread_barrier_wait(&all_are_there);
}

static void stacks(void)
{
    static pthread_t threads[WAITING + ENDED];
    /* These stacks libc keeps, and gives half of them to the next threads. */
    begin(threads, WAITING + ENDED, NULL);
    for (int i = 0; i < WAITING + ENDED; i++)
        must(pthread_join(threads[i], NULL) == 0, "an end");
    begin(threads, WAITING, threads);
    truth.stacks = WAITING * (unsigned long long)STACK_BYTES;
}

/* ---- all of it ---- */

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"blocks", blocks}, {"fragmented", fragmented}, {"freed", freed},
    {"mapped", mapped}, {"stacks", stacks},
};

/* The file is there once all of it is. */
static void tell(const char *path)
{
    char text[512], name[512];
    int n = snprintf(text, sizeof text,
                     "{\"pid\": %d, \"live\": %llu, \"untouched\": %llu, \"given\": %llu, "
                     "\"map_whole\": %llu, \"map_half\": %llu, \"map_sparse\": %llu, "
                     "\"stacks\": %llu}\n",
                     (int)getpid(), truth.live, truth.untouched, truth.given, truth.mapped_whole,
                     truth.mapped_half, truth.mapped_sparse, truth.stacks);
    snprintf(name, sizeof name, "%s.new", path);
    FILE *file = fopen(name, "w");
    must(file != NULL, name);
    must(fwrite(text, (size_t)n, 1, file) == 1 && fclose(file) == 0, name);
    must(rename(name, path) == 0, path);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        /* What is not touched shall not be there because of its neighbours. */
        (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
        modes[i].run();
        tell(argv[2]);
        for (;;)
            pause();
    }
    fprintf(stderr, "usage: resident blocks|fragmented|freed|mapped|stacks FILE\n");
    return 2;
}
