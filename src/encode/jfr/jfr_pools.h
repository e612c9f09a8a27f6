/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_pools.h - the constants that events of a chunk refer to by number: threads, stacks and what
 * those are made of.
 *
 * Layer:    encode; above profile
 * Flow:     tables of the profile -> [jfr_pools] -> jfr_chunk.c
 * Threads:  one owner at a time
 * Memory:   four bytes for each stack, function, (twice) frame, string and thread, and the
 *           constants of one chunk
 * Signals:  not for handlers
 *
 * A constant is written when it is first used in a chunk. Its number is the same in all chunks,
 * since the JDK's reader keeps what it had in the chunk before under a number; it is the place in
 * the profile's table + 1. 0 is null.
 */
#ifndef KYMO_ENCODE_JFR_JFR_POOLS_H
#define KYMO_ENCODE_JFR_JFR_POOLS_H

#include "encode/encoder.h"
#include "encode/jfr/jfr_bytes.h"

enum {
    KYMO_JFR_POOL_THREADS,
    KYMO_JFR_POOL_STACKS,
    KYMO_JFR_POOL_METHODS,
    KYMO_JFR_POOL_CLASSES,
    KYMO_JFR_POOL_SYMBOLS,
    KYMO_JFR_POOL_COUNT
};

typedef struct kymo_jfr_pool {
    kymo_jfr_bytes bytes; /* the constants, each with its number */
    uint32_t count;       /* of them */
    uint32_t *chunk_of;   /* by what it is of: the last chunk that has it */
} kymo_jfr_pool;

typedef struct kymo_jfr_pools {
    const kymo_profile *p;
    kymo_jfr_pool pool[KYMO_JFR_POOL_COUNT];
    uint32_t chunk;           /* from 1 on */
    uint32_t *thread_numbers; /* by thread */
    uint32_t frame_types;     /* a bit for each that is used */
    uint32_t states;
    uint32_t truncated_name; /* string of the frame that stands for what a stack lacks */
} kymo_jfr_pools;

/* KYMO_E_NOMEM: deinit frees what there is. */
KYMO_NODISCARD
kymo_err kymo_jfr_pools_init(kymo_jfr_pools *pools, const kymo_profile *profile);
void kymo_jfr_pools_deinit(kymo_jfr_pools *pools);
/* For the next chunk. */
void kymo_jfr_pools_clear(kymo_jfr_pools *pools);

/* KYMO_NONE: null. */
uint32_t kymo_jfr_thread_key(kymo_jfr_pools *pools, uint32_t thread);
/* KYMO_NONE: a stack of one frame that says so. */
uint32_t kymo_jfr_stack_key(kymo_jfr_pools *pools, uint32_t stack);

/* What a thread did; DEFAULT is that of samples of CPU time. */
typedef enum kymo_jfr_state {
    KYMO_JFR_STATE_DEFAULT = 1,
    KYMO_JFR_STATE_RUNNABLE,
    KYMO_JFR_STATE_SLEEPING,
    KYMO_JFR_STATE_BLOCKED,
    KYMO_JFR_STATE_UNKNOWN,
    KYMO_JFR_STATE_END
} kymo_jfr_state;
uint32_t kymo_jfr_state_key(kymo_jfr_pools *pools, kymo_jfr_state state);

/* Bytes so far. */
size_t kymo_jfr_pools_size(const kymo_jfr_pools *pools);
int kymo_jfr_pools_failed(const kymo_jfr_pools *pools);
/* Appends the event that holds all of them. Pools without a constant are left out, since readers
 * refuse them. */
void kymo_jfr_pools_write(const kymo_jfr_pools *pools, kymo_jfr_bytes *out, uint64_t start_ticks);

#endif
