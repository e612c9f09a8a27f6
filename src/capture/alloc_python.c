/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_python.c - Python's own allocator, which gives objects of up to 512 bytes their memory.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     an object is made -> PyMem_SetAllocator's functions -> [alloc_python] -> alloc_count.h
 * Threads:  those with the interpreter's lock
 * Signals:  as safe as the allocator's own
 *
 * What is larger Python asks malloc for, whose hooks see it. An object that grows is one that is
 * given back and a new one, since nothing says what it could hold: so all that was allocated, not
 * what lives, counts its whole new size.
 *
 * Set before the interpreter is initialized. PYTHONMALLOC and -X dev then put other allocators in
 * this one's place. An object that malloc gave when it was larger, and that shrinks, counts twice.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "capture/alloc_count.h"
#include "capture/alloc_record.h"

#define SMALL_MAX 512u

/* CPython's PyMemAllocatorEx and domains, which are the same in all versions from 3.5 on. */
struct allocator {
    void *context;
    void *(*malloc)(void *context, size_t bytes);
    void *(*calloc)(void *context, size_t count, size_t bytes);
    void *(*realloc)(void *context, void *block, size_t bytes);
    void (*free)(void *context, void *block);
};
enum { DOMAIN_MEM = 1, DOMAIN_OBJECT = 2, DOMAINS };

static struct allocator next_of[DOMAINS];

/* None and too large sizes go to malloc. */
static int is_small(size_t bytes)
{
    return kymo_likely(bytes - 1 < SMALL_MAX) != 0;
}

/* How the table calls a block of this allocator: malloc may have had one at the same place whose
 * end was not seen. */
static void *key_of(const void *block)
{
    return (void *)((uintptr_t)block | KYMO_ALLOC_OF_PYTHON);
}

static void note(struct kymo_alloc_draw draw, const void *block, size_t bytes, uint64_t here)
{
    if (draw.is_drawn && block)
        kymo_alloc_note(draw, key_of(block), bytes, 0, KYMO_ALLOC_PYTHON, here);
}

static KYMO_NOINLINE void *malloc_slowly(const struct allocator *next, size_t bytes, uint64_t here)
{
    struct kymo_alloc_draw draw = kymo_alloc_begin(bytes, here);
    void *block = next->malloc(next->context, bytes);
    note(draw, block, bytes, here);
    return block;
}

static void *python_malloc(void *context, size_t bytes)
{
    const struct allocator *next = context;
    return !is_small(bytes) || kymo_alloc_passes(bytes)
               ? next->malloc(next->context, bytes)
               : malloc_slowly(next, bytes, KYMO_FRAME_BEGIN());
}

static KYMO_NOINLINE void *calloc_slowly(const struct allocator *next, size_t count, size_t bytes,
                                         uint64_t here)
{
    struct kymo_alloc_draw draw = kymo_alloc_begin(count * bytes, here);
    void *block = next->calloc(next->context, count, bytes);
    note(draw, block, count * bytes, here);
    return block;
}

static void *python_calloc(void *context, size_t count, size_t bytes)
{
    const struct allocator *next = context;
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) || !is_small(all) || kymo_alloc_passes(all)
               ? next->calloc(next->context, count, bytes)
               : calloc_slowly(next, count, bytes, KYMO_FRAME_BEGIN());
}

static KYMO_NOINLINE void *realloc_slowly(const struct allocator *next, void *block, size_t bytes,
                                          uint64_t here)
{
    struct kymo_alloc_draw draw = {0, 0};
    if (is_small(bytes) && kymo_alloc_self.until < 0)
        draw = kymo_alloc_begin(bytes, here);
    uint64_t id = block && !kymo_alloc_free_passes(block) ? kymo_alloc_take_out(key_of(block)) : 0;
    void *moved = next->realloc(next->context, block, bytes);
    if (!moved && id) {
        kymo_alloc_put_back(key_of(block), id);
        return NULL;
    }
    if (id)
        kymo_alloc_end_block(id, here);
    note(draw, moved, bytes, here);
    return moved;
}

static void *python_realloc(void *context, void *block, size_t bytes)
{
    const struct allocator *next = context;
    int passes = !is_small(bytes) || kymo_alloc_passes(bytes);
    return passes && (!block || kymo_alloc_free_passes(block))
               ? next->realloc(next->context, block, bytes)
               : realloc_slowly(next, block, bytes, KYMO_FRAME_BEGIN());
}

static KYMO_NOINLINE void free_slowly(const struct allocator *next, void *block, uint64_t here)
{
    kymo_alloc_note_free(key_of(block), here);
    next->free(next->context, block);
}

static void python_free(void *context, void *block)
{
    const struct allocator *next = context;
    if (kymo_alloc_free_passes(block))
        next->free(next->context, block);
    else
        free_slowly(next, block, KYMO_FRAME_BEGIN());
}

void kymo_alloc_python_start(void)
{
    void (*get)(int domain, struct allocator *allocator);
    void (*set)(int domain, struct allocator *allocator);
    void *found_get = dlsym(RTLD_DEFAULT, "PyMem_GetAllocator");
    void *found_set = dlsym(RTLD_DEFAULT, "PyMem_SetAllocator");
    if (!found_get || !found_set)
        return;
    memcpy(&get, &found_get, sizeof get);
    memcpy(&set, &found_set, sizeof set);
    for (int domain = DOMAIN_MEM; domain < DOMAINS; domain++) {
        struct allocator ours = {&next_of[domain], python_malloc, python_calloc, python_realloc,
                                 python_free};
        get(domain, &next_of[domain]);
        set(domain, &ours);
    }
}
