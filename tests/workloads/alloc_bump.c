/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_bump.c - an allocator that may be called in signal handlers and never gives back: one
 * atomic addition in a large mapping. A library that programs are linked with, or that is
 * preloaded; each call checks what arrives.
 *
 * alloc_bump_fail(N): each Nth allocation fails, counted over all threads.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { HEADER = 16, GUARD = 0x62756d70 };
#define SPACE_BYTES (16ull << 30) /* of addresses: what is not written takes no memory */

EXPORT int alloc_bump_is_here;
EXPORT void alloc_bump_fail(uint64_t each);
static char *space;
static uint64_t used, asked;
static uint64_t fail_each;

struct header {
    uint64_t bytes;
    uint64_t guard;
};

static char *space_get(void)
{
    char *now = __atomic_load_n(&space, __ATOMIC_ACQUIRE);
    if (now)
        return now;
    char *made = mmap(NULL, SPACE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        abort();
    if (!__atomic_compare_exchange_n(&space, &now, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        munmap(made, SPACE_BYTES);
        return now;
    }
    return made;
}

static void *take(size_t alignment, size_t bytes)
{
    char *base = space_get();
    uint64_t number = __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
    if (alignment < HEADER)
        alignment = HEADER;
    if (bytes > SPACE_BYTES / 2 || (fail_each && number % fail_each == 0)) {
        errno = ENOMEM;
        return NULL;
    }
    uint64_t whole = (HEADER + alignment + bytes + 15) & ~15ull;
    uint64_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
    if (at + whole > SPACE_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    uint64_t block = ((uint64_t)(uintptr_t)base + at + HEADER + alignment - 1) & ~(alignment - 1);
    struct header *header = (struct header *)(uintptr_t)(block - HEADER);
    *header = (struct header){bytes, GUARD};
    return header + 1;
}

static struct header *header_of(void *block)
{
    struct header *header = (struct header *)block - 1;
    if (header->guard != GUARD) {
        static const char text[] = "alloc_bump: no block of its own\n";
        (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
        abort();
    }
    return header;
}

/* Each so many allocations fail from here on, 0: none. A caller counts from now. */
EXPORT void alloc_bump_fail(uint64_t each)
{
    fail_each = each;
    asked = 0;
}

EXPORT void *malloc(size_t bytes)
{
    return take(HEADER, bytes);
}

EXPORT void free(void *block)
{
    if (block)
        header_of(block)->guard = GUARD; /* it stays: freed twice is no concern here */
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return take(HEADER, bytes); /* fresh pages are zero */
}

EXPORT void *realloc(void *block, size_t bytes)
{
    if (!block)
        return take(HEADER, bytes);
    struct header *header = header_of(block);
    if (bytes <= header->bytes)
        return block;
    void *now = take(HEADER, bytes);
    if (now)
        memcpy(now, block, header->bytes);
    return now;
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
    return take(alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return take(alignment, bytes);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (alignment % sizeof(void *) || (alignment & (alignment - 1)) || !alignment)
        return EINVAL;
    int before = errno;
    void *taken = take(alignment, bytes);
    errno = before;
    if (!taken)
        return ENOMEM;
    *block = taken;
    return 0;
}

EXPORT size_t malloc_usable_size(void *block)
{
    return block ? header_of(block)->bytes : 0;
}
