/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_memory.h - memory that the recorder makes and recorded programs map.
 *
 * Layer:    recorder
 * Threads:  any
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_SHARED_MEMORY_H
#define KYMO_RECORDER_SHARED_MEMORY_H

#include <stdint.h>

/* A descriptor of `size` bytes, initially zero; pages are allocated on first use. -1 (errno).
 * Its size is sealed: no program can truncate it. */
int kymo_shared_memory_make(const char *name, uint64_t size);

#endif
