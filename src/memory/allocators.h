/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocators.h - what the allocators of this process say of themselves.
 *
 * Layer:    memory
 * Flow:     mallinfo2, malloc_info, mallctl, mi_process_info, MallocExtension -> [allocators]
 *           -> figures
 * Threads:  any, at the same time
 * Memory:   takes some from malloc for a moment
 * Signals:  not for handlers, nor for a malloc
 *
 * Every one that is loaded is asked, also one that no block comes from: glibc's, beside another
 * that stands in front of it, then has next to nothing. mallinfo2 walks the lists of free blocks
 * under the lock of their arena; with millions of them that takes milliseconds.
 */
#ifndef KYMO_MEMORY_ALLOCATORS_H
#define KYMO_MEMORY_ALLOCATORS_H

#include "memory/figures.h"

void kymo_memory_read_allocators(struct kymo_figures *f);

/* Of malloc_info's text: largest size of all arenas together, and their number. */
void kymo_memory_parse_malloc_info(struct kymo_figures *f, const char *text);

#endif
