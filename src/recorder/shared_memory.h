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

/* A descriptor of size bytes that read as zeros, pages being there once they are touched; -1
 * (errno). Its size is sealed: no program can shrink it under us. */
int kymo_shared_memory_make(const char *name, uint64_t size);

#endif
