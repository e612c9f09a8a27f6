/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_next.h - the functions that would be called without us.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     alloc_hooks.c, map_hooks.c -> [alloc_next] -> the program's allocator
 * Threads:  found at the first call of any of them, when a process has one thread
 * Memory:   none
 * Signals:  safe
 *
 * Each pointer begins at a function that finds them all and then calls the right one. So a hook
 * works from the first call of the process, which comes from the loader, before any constructor,
 * and has nothing to test.
 */
#ifndef KYMO_CAPTURE_ALLOC_NEXT_H
#define KYMO_CAPTURE_ALLOC_NEXT_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "base/attr.h"
#include "buffer/session.h"

/* X(type of the result, name, parameters, arguments); free, which has no result, is on its own. */
#define KYMO_NEXT_FUNCTIONS(X)                                                                \
    X(void *, malloc, (size_t bytes), (bytes))                                                \
    X(void *, calloc, (size_t count, size_t bytes), (count, bytes))                           \
    X(void *, realloc, (void *block, size_t bytes), (block, bytes))                           \
    X(void *, reallocarray, (void *block, size_t count, size_t bytes), (block, count, bytes)) \
    X(int, posix_memalign, (void **block, size_t align, size_t bytes), (block, align, bytes)) \
    X(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes))                    \
    X(void *, memalign, (size_t align, size_t bytes), (align, bytes))                         \
    X(void *, valloc, (size_t bytes), (bytes))                                                \
    X(void *, pvalloc, (size_t bytes), (bytes))                                               \
    X(size_t, malloc_usable_size, (void *block), (block))                                     \
    X(void *, mmap,                                                                           \
      (void *address, size_t bytes, int protection, int flags, int fd, off_t offset),         \
      (address, bytes, protection, flags, fd, offset))                                        \
    X(int, munmap, (void *address, size_t bytes), (address, bytes))                           \
    X(void *, mremap, (void *address, size_t before, size_t bytes, int flags, void *place),   \
      (address, before, bytes, flags, place))                                                 \
    X(int, brk, (void *address), (address))                                                   \
    X(void *, sbrk, (intptr_t bytes), (bytes))                                                \
    X(void *, shmat, (int id, const void *address, int flags), (id, address, flags))          \
    X(int, shmdt, (const void *address), (address))

struct kymo_next {
#define FIELD(result, name, parameters, arguments) result(*name) parameters;
    KYMO_NEXT_FUNCTIONS(FIELD)
#undef FIELD
    void (*free)(void *block);
};
/* Hidden: a hook jumps by what is beside it, not by a table of addresses. */
extern struct kymo_next kymo_next __attribute__((visibility("hidden")));

/* What an allocation can hold; 0: not known. Asking may allocate, the first time, and an operator
 * of the program's own may come by malloc then: within itself the answer is not known. */
extern __thread uint32_t kymo_alloc_asks KYMO_TLS_IE;
KYMO_SIGNAL_SAFE static inline size_t kymo_alloc_usable(void *block)
{
    if (kymo_unlikely(kymo_alloc_asks))
        return 0;
    kymo_alloc_asks = 1;
    size_t bytes = kymo_next.malloc_usable_size(block);
    kymo_alloc_asks = 0;
    return bytes;
}

/* Finds them all; again does no harm. */
KYMO_SIGNAL_SAFE void kymo_alloc_next_find(void);

/* The function of that name behind us; 0: there is none. With everywhere it is looked for in all
 * that is loaded but us. */
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_next_symbol(const char *name, int everywhere);

/* Whether the executable itself has it: it is what everybody else calls. */
KYMO_SIGNAL_SAFE int kymo_alloc_next_is_program(const char *name);

/* Whether the code at that address is of the library that malloc is in. */
KYMO_SIGNAL_SAFE int kymo_alloc_next_is_allocator(uint64_t address);

/* Who answers malloc: by what else its library defines. */
KYMO_SIGNAL_SAFE enum kymo_allocator kymo_alloc_next_allocator(void);

/* The function by which that one speaks of itself (alloc_words.h); 0: it does not. */
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_next_words(enum kymo_allocator allocator);

/* ---- next_symbol.c: what a library defines under a name, without dlsym ----
 *
 * dlsym allocates, locks, and may itself be what calls malloc for the first time.
 */

/* The dynamic symbols of one library, where the loader has them. */
struct kymo_symbol_table {
    uint64_t bias;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions; /* NULL: it has none */
    const uint32_t *gnu_hash;    /* NULL: it has the older table alone */
    const uint32_t *hash;
};

/* Returns 0 if the library has none that can be looked through. */
KYMO_SIGNAL_SAFE int kymo_symbol_table_init(struct kymo_symbol_table *table,
                                            const struct link_map *library);

/* The function of that name, in its default version; 0: there is none. What chooses itself at run
 * time (an ifunc) is asked for its choice. */
KYMO_SIGNAL_SAFE uint64_t kymo_symbol_table_find(const struct kymo_symbol_table *table,
                                                 const char *name);

#endif
