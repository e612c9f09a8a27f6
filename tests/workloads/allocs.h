/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocs.h - a program that asks for memory in known places, and says what it asked for: one JSON
 * object on standard output, which tests compare with the recording.
 *
 * What it needs itself it does not take from malloc: its own tables are mapped, and the truth is
 * printed without stdio. So malloc has what is told, and what libc wants for threads.
 */
#ifndef KYMO_TESTS_ALLOCS_H
#define KYMO_TESTS_ALLOCS_H

#include <stddef.h>

#include "workload.h"

/* The address of a block, as a value that the compiler knows nothing of: calls of malloc and free
 * stay, each in its own function, and are no tail calls. */
#define HOLD(block, name) __asm__ volatile("# " #name : "+r"(block) : : "memory")

/* Defines a function of this name, which is where such blocks come from. */
#define DEFINE_SITE(name)                \
    static KEPT void *name(size_t bytes) \
    {                                    \
        void *block = malloc(bytes);     \
        HOLD(block, name);               \
        must(block != NULL, "malloc");   \
        return block;                    \
    }

struct tally {
    uint64_t objects, bytes;
};

static inline void tally_add(struct tally *tally, size_t bytes)
{
    tally->objects++;
    tally->bytes += bytes;
}

/* allocs.c: text for standard output, kept until tell_end. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tell_end(void);
/* "name": {objects, bytes, live_objects, live_bytes}, with a comma before all but the first. */
void tell_site(const char *name, struct tally all, struct tally live);
/* So many pointers, mapped. */
void **pointers(size_t count);

/* Each prints its own truth. */
void allocs_kinds(uint32_t count);  /* allocs_kinds.c: the first so many functions of the family */
void allocs_errors(void);           /* allocs_kinds.c: what must fail, and does no harm */
void allocs_resize(uint32_t count); /* allocs_kinds.c: chains of realloc */
void allocs_maps(void);             /* allocs_kinds.c: mmap, mremap, munmap */
void allocs_fork(uint32_t count);   /* allocs_hard.c: children free what they inherited */
void allocs_fork_frees(uint32_t count); /* allocs_hard.c: children attach while they free */
void allocs_flood(uint32_t count);      /* allocs_hard.c: more than is read at once, and children */
void allocs_lost(uint32_t count);       /* allocs_hard.c: more than a small session holds */
void allocs_handlers(uint32_t count);   /* allocs_hard.c: handlers that allocate, and jump out */
void allocs_plugins(uint32_t count);    /* allocs_hard.c: libraries that come and go */
void allocs_destructors(uint32_t count); /* allocs_hard.c: threads' destructors free */
void allocs_low(uint32_t mib);           /* allocs_hard.c: until malloc fails, under ulimit -v */
void allocs_coroutines(void);            /* allocs_odd.c: stacks that are not the thread's */
void allocs_failing(uint32_t each);      /* allocs_odd.c: each so many calls find no memory */
void allocs_segments(void);              /* allocs_odd.c: shared memory of System V */

#endif
