/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (64u * 1024u)

struct kymo_arena_chunk {
    struct kymo_arena_chunk *next;
};

void kymo_arena_init(kymo_arena *arena)
{
    memset(arena, 0, sizeof *arena);
}

void kymo_arena_deinit(kymo_arena *arena)
{
    struct kymo_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct kymo_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    memset(arena, 0, sizeof *arena);
}

static char *align_up(char *p, size_t align)
{
    return (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
}

void *kymo_arena_alloc(kymo_arena *arena, size_t size, size_t align)
{
    if (size == 0)
        size = 1;
    char *p = align_up(arena->next, align);
    if (!arena->next || p > arena->end || size > (size_t)(arena->end - p)) {
        if (size > SIZE_MAX / 2)
            return NULL;
        size_t room = size + align;
        size_t bytes = sizeof(struct kymo_arena_chunk) + (room > CHUNK_BYTES ? room : CHUNK_BYTES);
        struct kymo_arena_chunk *chunk = malloc(bytes);
        if (!chunk)
            return NULL;
        char *first = (char *)(chunk + 1);
        /* A large request gets a chunk of its own and leaves the current chunk in use. */
        if (room > CHUNK_BYTES / 4 && arena->chunks) {
            chunk->next = arena->chunks->next;
            arena->chunks->next = chunk;
            arena->used_bytes += size;
            return align_up(first, align);
        }
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->next = first;
        arena->end = (char *)chunk + bytes;
        p = align_up(first, align);
    }
    arena->next = p + size;
    arena->used_bytes += size;
    return p;
}

void *kymo_arena_calloc(kymo_arena *arena, size_t size, size_t align)
{
    void *p = kymo_arena_alloc(arena, size, align);
    if (p)
        memset(p, 0, size);
    return p;
}

char *kymo_arena_strndup(kymo_arena *arena, const char *text, size_t len)
{
    char *copy = kymo_arena_alloc(arena, len + 1, 1);
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}
