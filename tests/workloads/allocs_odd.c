/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs_odd.c - memory on stacks that are not the thread's, from an allocator that fails now and
 * then, and shared memory of System V.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <ucontext.h>

#include "allocs.h"

/* ---- coroutines: each begins on one thread and ends on another ---- */

enum { COROUTINES = 16, ROUNDS = 20, STACK_BYTES = 64 << 10 };

DEFINE_SITE(site_coroutine)

static ucontext_t back, coroutines[COROUTINES];
static void *held[COROUTINES];

/* Frees what another one has left, and leaves something itself; the last round's stays. */
static void be_a_coroutine(int self)
{
    for (int round = 0; round < ROUNDS; round++) {
        int other = (self + round) % COROUTINES;
        void *block = held[other];
        held[other] = NULL;
        free(block);
        block = site_coroutine(300 + (size_t)self);
        if (held[self])
            free(held[self]);
        held[self] = block;
        must(swapcontext(&coroutines[self], &back) == 0, "swapcontext");
    }
}

static void *run_rounds(void *count)
{
    for (int round = 0; round < *(const int *)count; round++)
        for (int i = 0; i < COROUTINES; i++)
            must(swapcontext(&back, &coroutines[i]) == 0, "swapcontext");
    return NULL;
}

void allocs_coroutines(void)
{
    struct tally all = {0}, live = {0};
    int half = ROUNDS / 2;
    pthread_t thread;
    for (int i = 0; i < COROUTINES; i++) {
        void *stack =
            mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(stack != MAP_FAILED && getcontext(&coroutines[i]) == 0, "a stack");
        coroutines[i].uc_stack.ss_sp = stack;
        coroutines[i].uc_stack.ss_size = STACK_BYTES;
        coroutines[i].uc_link = &back;
        makecontext(&coroutines[i], (void (*)(void))be_a_coroutine, 1, i);
        for (int round = 0; round < ROUNDS; round++)
            tally_add(&all, 300 + (size_t)i);
    }
    (void)run_rounds(&half);
    must(pthread_create(&thread, NULL, run_rounds, &half) == 0, "pthread_create");
    must(pthread_join(thread, NULL) == 0, "pthread_join");
    for (int i = 0; i < COROUTINES; i++)
        if (held[i])
            tally_add(&live, malloc_usable_size(held[i]) >= 300 ? 300 + (size_t)i : 0);
    tell("{\"sites\":{");
    tell_site("site_coroutine", all, live);
    tell("}}");
}

/* ---- failing: each Nth call finds no memory ---- */

enum { KINDS = 7, STEPS = 57 * KINDS };

static KEPT void *fail_malloc(void *before, size_t bytes)
{
    void *block = malloc(bytes + 0 * (size_t)before);
    HOLD(block, fail_malloc);
    return block;
}

static KEPT void *fail_calloc(void *before, size_t bytes)
{
    void *block = calloc(2 + 0 * (size_t)before, bytes / 2);
    HOLD(block, fail_calloc);
    return block;
}

static KEPT void *fail_reallocarray(void *before, size_t bytes)
{
    void *block = reallocarray(before ? NULL : before, 2, bytes / 2);
    HOLD(block, fail_reallocarray);
    return block;
}

static KEPT void *fail_posix_memalign(void *before, size_t bytes)
{
    void *block = before;
    int error = posix_memalign(&block, 128, bytes);
    HOLD(block, fail_posix_memalign);
    must(error == 0 || (error == ENOMEM && block == before), "posix_memalign");
    return error == 0 ? block : NULL;
}

static KEPT void *fail_aligned_alloc(void *before, size_t bytes)
{
    void *block = aligned_alloc(64 + 0 * (size_t)before, bytes);
    HOLD(block, fail_aligned_alloc);
    return block;
}

static KEPT void *fail_memalign(void *before, size_t bytes)
{
    void *block = memalign(64 + 0 * (size_t)before, bytes);
    HOLD(block, fail_memalign);
    return block;
}

/* The old block stays, as it was, where there is no memory for the new one. */
static KEPT void *fail_realloc(void *before, size_t bytes)
{
    void *block = realloc(before, bytes);
    HOLD(block, fail_realloc);
    return block;
}

void allocs_failing(uint32_t each)
{
    static const struct {
        const char *name;
        void *(*ask)(void *before, size_t bytes);
    } kinds[KINDS] = {
        {"fail_malloc", fail_malloc},
        {"fail_calloc", fail_calloc},
        {"fail_reallocarray", fail_reallocarray},
        {"fail_posix_memalign", fail_posix_memalign},
        {"fail_aligned_alloc", fail_aligned_alloc},
        {"fail_memalign", fail_memalign},
        {"fail_realloc", fail_realloc}, /* the last: of the block of malloc */
    };
    struct tally all[KINDS] = {{0}}, live[KINDS] = {{0}};
    uint32_t failed = 0;
    char steps[STEPS + 1] = {0};
    void (*fail)(uint64_t);
    *(void **)&fail = dlsym(RTLD_DEFAULT, "alloc_bump_fail");
    must(fail != NULL, "an allocator that fails");
    fail(each);
    void *of_malloc = NULL;
    size_t of_malloc_bytes = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t kind = i % KINDS;
        size_t bytes = 64 + 16 * (size_t)(i % 50);
        int is_resize = kind == KINDS - 1;
        size_t asked = is_resize ? of_malloc_bytes + 1000 : bytes;
        errno = 0;
        unsigned char *block = kinds[kind].ask(is_resize ? of_malloc : NULL, asked);
        steps[i] = block ? '.' : errno == ENOMEM ? 'x' : kind == 3 ? 'p' : '?';
        failed += block == NULL;
        if (kind == 0) {
            of_malloc = block;
            of_malloc_bytes = block ? bytes : 0;
        }
        if (!block && is_resize && of_malloc) {
            unsigned char *old = of_malloc;
            must(old[0] == 0x5a && old[of_malloc_bytes - 1] == 0x5a, "realloc: the old block");
            tally_add(&live[0], of_malloc_bytes);
        }
        if (!block)
            continue;
        if (is_resize && of_malloc) {
            /* Of malloc's row it is no more. */
            must(block[0] == 0x5a && block[of_malloc_bytes - 1] == 0x5a, "realloc: the content");
            tally_add(&live[kind], asked);
            continue;
        }
        memset(block, 0x5a, asked);
        tally_add(&all[kind], asked);
        if (kind != 0 && (is_resize || i % 2 == 0))
            tally_add(&live[kind], asked);
        else if (kind != 0)
            free(block);
    }
    fail(0);
    tell("{\"failed\":%u,\"steps\":\"%s\",\"sites\":{", failed, steps);
    for (uint32_t kind = 1; kind < KINDS - 1; kind++)
        tell_site(kinds[kind].name, all[kind], live[kind]);
    tell("},\"left\":{");
    tell_site(kinds[0].name, all[0], live[0]);
    tell_site(kinds[KINDS - 1].name, all[KINDS - 1], live[KINDS - 1]);
    tell("}}");
}

/* ---- segments: one that stays, one that goes, one that another takes the place of ---- */

static KEPT void *site_segment(size_t bytes, void *at)
{
    int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    must(id >= 0, "shmget");
    void *place = shmat(id, at, at ? SHM_REMAP : 0);
    HOLD(place, site_segment);
    must(place != (void *)-1 && shmctl(id, IPC_RMID, NULL) == 0, "shmat");
    return place;
}

void allocs_segments(void)
{
    size_t mib = 1 << 20;
    (void)site_segment(4 * mib - 100, NULL);
    void *gone = site_segment(2 * mib, NULL);
    must(shmdt(gone) == 0 && shmdt(gone) != 0, "shmdt");
    (void)site_segment(3 * mib, site_segment(3 * mib, NULL));
    tell("{\"mapped\":%llu}", (unsigned long long)(7 * mib));
}
