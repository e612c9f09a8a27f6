/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory that is given back all at once.
 *
 * Layer:    base (cold half only)
 * Threads:  one owner at a time
 * Memory:   chunks from malloc; kymo_arena_deinit frees everything ever taken from it
 * Signals:  not for handlers
 */
#ifndef KYMO_BASE_ARENA_H
#define KYMO_BASE_ARENA_H

#include <stddef.h>

#include "base/attr.h"

struct kymo_arena_chunk;

typedef struct kymo_arena {
    struct kymo_arena_chunk *chunks; /* newest first */
    char *next;                      /* free space of the newest chunk */
    char *end;
    size_t used_bytes;
} kymo_arena;

/* An arena of zero bytes is a valid, empty arena; init only says so by name. */
void kymo_arena_init(kymo_arena *arena);
/* Frees every chunk. The arena is empty afterwards and may be used again. */
void kymo_arena_deinit(kymo_arena *arena);
/* size bytes aligned to align (a power of two up to 64); NULL when there is no memory. The bytes
 * are not cleared. size 0 gives a valid, unique pointer. */
KYMO_NODISCARD
void *kymo_arena_alloc(kymo_arena *arena, size_t size, size_t align);
/* The same, cleared. */
KYMO_NODISCARD
void *kymo_arena_calloc(kymo_arena *arena, size_t size, size_t align);
/* A copy of len bytes of text and a NUL; NULL when there is no memory. */
KYMO_NODISCARD
char *kymo_arena_strndup(kymo_arena *arena, const char *text, size_t len);

#endif
