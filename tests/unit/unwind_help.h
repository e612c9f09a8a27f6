/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_help.h - what the tests of the unwinder share: a walker, and libgcc's opinion.
 */
#ifndef KYMO_TESTS_UNWIND_HELP_H
#define KYMO_TESTS_UNWIND_HELP_H

#include <pthread.h>
#include <stdio.h>
#include <unwind.h>

#include "unwind/unwind.h"

#define HELP_MAX_FRAMES 4096

__attribute__((unused)) static struct kymo_row_slot help_cache[KYMO_ROW_CACHE_SLOTS];
__attribute__((unused)) static struct kymo_walker help_walker;

/* A thread's own stack as glibc knows it. */
static inline struct kymo_stack_bounds help_bounds(void)
{
    pthread_attr_t attr;
    void *lo = NULL;
    size_t size = 0;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &lo, &size);
    pthread_attr_destroy(&attr);
    return (struct kymo_stack_bounds){(uint64_t)(uintptr_t)lo, (uint64_t)(uintptr_t)lo + size};
}

struct help_trace {
    uint64_t pcs[HELP_MAX_FRAMES];
    size_t n;
};

static inline _Unwind_Reason_Code help_on_frame(struct _Unwind_Context *context, void *data)
{
    struct help_trace *trace = (struct help_trace *)data;
    uint64_t pc = _Unwind_GetIP(context);
    if (pc != 0 && trace->n < HELP_MAX_FRAMES)
        trace->pcs[trace->n++] = pc;
    return _URC_NO_REASON;
}

/* libgcc's chain from its caller on. */
static inline __attribute__((always_inline)) void help_libgcc(struct help_trace *trace)
{
    trace->n = 0;
    _Unwind_Backtrace(help_on_frame, trace);
}

/* The position of pc in a trace, or n. */
static inline size_t help_find(const struct help_trace *trace, uint64_t pc)
{
    size_t i = 0;
    while (i < trace->n && trace->pcs[i] != pc)
        i++;
    return i;
}

static inline void help_print(const char *name, const uint64_t *pcs, size_t n)
{
    fprintf(stderr, "%s (%zu):", name, n);
    for (size_t i = 0; i < n && i < 40; i++)
        fprintf(stderr, " %llx", (unsigned long long)pcs[i]);
    fprintf(stderr, "\n");
}

#endif
