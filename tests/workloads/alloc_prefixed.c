/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_prefixed.c - a library that is an allocator under a prefix, as a jemalloc that was built
 * so: libprefixed_malloc.so. It takes all from one mapping, and gives nothing back.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))
#define SPACE_BYTES (64u << 20)

EXPORT void *je_mallocx(size_t bytes, int flags);
EXPORT size_t je_sallocx(const void *block, int flags);
EXPORT void je_dallocx(void *block, int flags);
EXPORT void *je_malloc(size_t bytes);
EXPORT void *je_calloc(size_t count, size_t bytes);
EXPORT void *je_realloc(void *block, size_t bytes);
EXPORT void je_free(void *block);

EXPORT int alloc_prefixed_is_last(void);

static char *space;
static size_t used;

EXPORT void *je_mallocx(size_t bytes, int flags)
{
    (void)flags;
    if (!space)
        space = mmap(NULL, SPACE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t whole = (bytes + 31) / 16 * 16;
    if (space == MAP_FAILED || whole > SPACE_BYTES - used)
        return NULL;
    size_t *head = (size_t *)(void *)(space + used);
    used += whole;
    head[1] = bytes;
    return head + 2;
}

EXPORT size_t je_sallocx(const void *block, int flags)
{
    (void)flags;
    return ((const size_t *)block)[-1];
}

EXPORT void je_dallocx(void *block, int flags)
{
    (void)flags;
    *(char *)block = 0;
}

EXPORT void *je_malloc(size_t bytes)
{
    return je_mallocx(bytes, 0);
}

EXPORT void *je_calloc(size_t count, size_t bytes)
{
    return je_mallocx(count * bytes, 0);
}

EXPORT void *je_realloc(void *block, size_t bytes)
{
    char *now = je_mallocx(bytes, 0);
    size_t before = block ? je_sallocx(block, 0) : 0;
    if (now && block)
        memcpy(now, block, before < bytes ? before : bytes);
    return now;
}

EXPORT void je_free(void *block)
{
    if (block)
        je_dallocx(block, 0);
}

/* Whoever is asked for the next one after the caller must know who the caller is. */
EXPORT int alloc_prefixed_is_last(void)
{
    return dlsym(RTLD_NEXT, "je_malloc") == NULL && dlvsym(RTLD_NEXT, "je_malloc", "ANY") == NULL;
}
