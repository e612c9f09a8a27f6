/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_figures.c - what Kymo knows of the allocator of this process, and what it needs of its
 * memory; read from the session, which is in this process, too.
 *
 *   heap                   gives back every second of many blocks, then goes on until the allocator
 *                          was asked twice more; prints what it has
 *   storm THREADS BLOCKS   each thread puts the question itself, before each of so many blocks,
 * while the process forks; prints whether there were answers footprint THREADS MIB  each thread
 * asks for so much, in blocks of many sizes and from many places, and keeps a part; prints what is
 * resident of Kymo's own memory
 *
 * Exit status 1: it is not recorded, or no recorder ever asks.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "buffer/session.h"

enum { BLOCKS = 40000, BLOCK_BYTES = 1000, DIRECT_BYTES = 8 << 20, PATIENCE_S = 600, KEPT = 4096 };

struct range {
    uint64_t lo, hi;
};

static const struct kymo_session *find_session(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    const struct kymo_session *found = NULL;
    while (maps && !found && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:kymo:"))
            found = (const void *)(uintptr_t)strtoull(line, NULL, 16);
    if (maps)
        fclose(maps);
    if (!found)
        exit(1);
    return found;
}

/* ---- heap ---- */

static uint32_t answered(const struct kymo_session *session)
{
    return kymo_load_acquire(&session->allocator_words.answered);
}

static void heap(void)
{
    static void *blocks[BLOCKS];
    const struct kymo_session *session = find_session();
    void *direct = malloc(DIRECT_BYTES);
    memset(direct, 1, DIRECT_BYTES);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        memset(blocks[i], 1, BLOCK_BYTES);
    }
    for (int i = 0; i < BLOCKS; i += 2)
        free(blocks[i]);
    /* The next answer may have been begun before. */
    for (int more = 0; more < 2; more++) {
        uint32_t before = answered(session);
        for (uint32_t now = before; now == before || now == 0; now = answered(session)) {
            void *volatile block = malloc(64);
            free(block);
            usleep(200);
        }
    }
    printf("{\"live\":%d,\"freed\":%d,\"direct\":%d}\n", BLOCKS / 2 * BLOCK_BYTES + DIRECT_BYTES,
           BLOCKS / 2 * BLOCK_BYTES, DIRECT_BYTES);
}

/* ---- storm ---- */

static struct kymo_session *asked;
static uint32_t storm_blocks, running;

static void *ask_and_allocate(void *argument)
{
    uint32_t random = (uint32_t)(uintptr_t)argument;
    void *kept[64] = {NULL};
    for (uint32_t i = 0; i < storm_blocks; i++) {
        random = random * 1664525 + 1013904223;
        void **place = &kept[random >> 26];
        kymo_add_relaxed(&asked->allocator_wanted, 1u);
        free(*place);
        *place = malloc((random >> 8) % 5000);
    }
    for (size_t i = 0; i < 64; i++)
        free(kept[i]);
    kymo_sub_relaxed(&running, 1u);
    return NULL;
}

static void fork_and_allocate(void)
{
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 1; i < 2000; i++)
            free(malloc(i));
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        exit(1);
}

static void storm(uintptr_t threads, uint32_t blocks)
{
    pthread_t id[64];
    asked = (struct kymo_session *)(uintptr_t)find_session();
    storm_blocks = blocks;
    running = (uint32_t)threads;
    for (uintptr_t i = 0; i < threads && i < 64; i++)
        if (pthread_create(&id[i], NULL, ask_and_allocate, (void *)(i + 1)) != 0)
            exit(1);
    for (int children = 0; children == 0 || kymo_load_relaxed(&running) != 0; children++)
        fork_and_allocate();
    for (uintptr_t i = 0; i < threads && i < 64; i++)
        (void)pthread_join(id[i], NULL);
    printf("{\"answered\":%d}\n", kymo_load_relaxed(&asked->allocator_words.taken) != 0);
}

/* ---- footprint ---- */

static uint64_t bytes_each;

/* Stacks that differ: as many as there are ways down. */
static __attribute__((noinline)) void *ask(uint32_t way, int depth, size_t bytes)
{
    void *block;
    if (depth == 0)
        return malloc(bytes);
    if (way & 1)
        block = ask(way >> 1, depth - 1, bytes);
    else
        block = ask(way >> 1, depth - 1, bytes);
    __asm__ volatile("" : : : "memory"); /* no tail call */
    return block;
}

static void *allocate(void *argument)
{
    void **kept = calloc(KEPT, sizeof *kept);
    uint32_t random = (uint32_t)(uintptr_t)argument;
    for (uint64_t done = 0; kept && done < bytes_each;) {
        random = random * 1664525 + 1013904223;
        size_t bytes = 16 + (random >> 8) % 1000;
        void **place = &kept[(random >> 20) % KEPT];
        free(*place);
        *place = ask(random >> 16, 8, bytes);
        done += bytes;
    }
    return NULL;
}

static int is_in(struct range vma, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (vma.lo < ranges[i].hi && ranges[i].lo < vma.hi)
            return 1;
    return 0;
}

static void tell_resident(const struct kymo_session *session)
{
    FILE *smaps = fopen("/proc/self/smaps", "r");
    char line[512];
    struct range own[4], vma = {0, 0}, before = {0, 0};
    enum { NONE, LIBRARY, SESSION, OWN, SHARED, KINDS } kind = NONE, kind_before = NONE;
    uint64_t resident[KINDS] = {0};
    for (size_t i = 0; i < 4; i++)
        own[i] = (struct range){session->own[i].lo, session->own[i].hi};
    while (smaps && fgets(line, sizeof line, smaps)) {
        unsigned long long lo, hi, inode, kib;
        int path;
        if (sscanf(line, "%llx-%llx %*s %*s %*s %llu %n", &lo, &hi, &inode, &path) == 3) {
            before = vma;
            kind_before = kind;
            vma = (struct range){lo, hi};
            kind = NONE;
            if (strstr(line, "/libkymo-preload-alloc.so"))
                kind = LIBRARY;
            else if (strstr(line, "memfd:kymo:"))
                kind = SESSION;
            else if (strstr(line, "memfd:kymo-"))
                kind = SHARED;
            else if (is_in(vma, own, 4))
                kind = OWN;
            else if (inode == 0 && kind_before == LIBRARY && before.hi == lo)
                kind = LIBRARY; /* its .bss */
        } else if (sscanf(line, "Rss: %llu kB", &kib) == 1) {
            resident[kind] += kib << 10;
        }
    }
    if (smaps)
        fclose(smaps);
    printf("{\"library\":%llu,\"session\":%llu,\"own\":%llu,\"shared\":%llu}\n",
           (unsigned long long)resident[LIBRARY], (unsigned long long)resident[SESSION],
           (unsigned long long)resident[OWN], (unsigned long long)resident[SHARED]);
}

static void footprint(uintptr_t threads, uint64_t mib)
{
    const struct kymo_session *session = find_session();
    pthread_t id[64];
    bytes_each = mib << 20;
    for (uintptr_t i = 0; i < threads && i < 64; i++)
        if (pthread_create(&id[i], NULL, allocate, (void *)(i + 1)) != 0)
            exit(1);
    for (uintptr_t i = 0; i < threads && i < 64; i++)
        (void)pthread_join(id[i], NULL);
    tell_resident(session);
}

int main(int argc, char **argv)
{
    alarm(PATIENCE_S);
    if (argc == 2 && strcmp(argv[1], "heap") == 0)
        heap();
    else if (argc == 4 && strcmp(argv[1], "storm") == 0)
        storm(strtoul(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10));
    else if (argc == 4 && strcmp(argv[1], "footprint") == 0)
        footprint(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    else
        return 2;
    return 0;
}
