/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_hooks.c - the C functions that give, resize and take back memory.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     the program's call -> [alloc_hooks] -> alloc_next.h
 * Threads:  any, from the first instruction of the process on
 * Signals:  as safe as the allocator's own
 *
 * glibc's reallocarray calls realloc by its symbol, that is ours: it is only handed on.
 */
#include <malloc.h>
#include <stdlib.h>

#include "capture/alloc_next.h"
#include "capture/hook.h"

KYMO_HOOK void *malloc(size_t bytes)
{
    return kymo_next.malloc(bytes);
}

KYMO_HOOK void *calloc(size_t count, size_t bytes)
{
    return kymo_next.calloc(count, bytes);
}

KYMO_HOOK void *realloc(void *block, size_t bytes)
{
    return kymo_next.realloc(block, bytes);
}

KYMO_HOOK void *reallocarray(void *block, size_t count, size_t bytes)
{
    return kymo_next.reallocarray(block, count, bytes);
}

KYMO_HOOK void free(void *block)
{
    kymo_next.free(block);
}

KYMO_HOOK int posix_memalign(void **block, size_t align, size_t bytes)
{
    return kymo_next.posix_memalign(block, align, bytes);
}

KYMO_HOOK void *aligned_alloc(size_t align, size_t bytes)
{
    return kymo_next.aligned_alloc(align, bytes);
}

KYMO_HOOK void *memalign(size_t align, size_t bytes)
{
    return kymo_next.memalign(align, bytes);
}

KYMO_HOOK void *valloc(size_t bytes)
{
    return kymo_next.valloc(bytes);
}

KYMO_HOOK void *pvalloc(size_t bytes)
{
    return kymo_next.pvalloc(bytes);
}
