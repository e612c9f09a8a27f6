/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auxv_hash.h - tells images of a process apart by what the kernel told them at their start: where
 * the random bytes, the loader and the vDSO are.
 *
 * Layer:    sys
 * Flow:     start/image_name.c, observe/task.c -> [auxv_hash]
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 */
#ifndef KYMO_SYS_AUXV_HASH_H
#define KYMO_SYS_AUXV_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define KYMO_AUXV_MAX 64u /* pairs, more than any kernel gives */

/* Of an auxiliary vector as the kernel made it, its AT_NULL included. */
static inline uint64_t kymo_auxv_hash(const uint64_t *words, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++)
        hash = kymo_hash_mix(hash, words[i]);
    return hash;
}

#endif
