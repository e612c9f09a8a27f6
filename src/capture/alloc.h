/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.h - which allocations are recorded, and how.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     alloc_hooks.c, alloc_operators.c (the program's call) -> [alloc] -> buffer/stream.h
 * Threads:  any; a thread's draws are its own
 * Memory:   the table of allocations that were drawn is ordinary private memory: a forked child has
 *           its copy, as it has its copy of the heap
 * Signals:  safe: malloc in a handler is as safe as the allocator's own
 *
 * A hook takes the size from `until`, bytes to the next draw; below 0 it comes here. A free looks
 * at one byte of the filter: 0, and no allocation near there was ever drawn. Hooks hold nothing
 * across the allocator's own function: it may throw, fail, call other hooks, or never return.
 *
 * An allocation is drawn before the allocator is asked, and recorded after it has answered. A free
 * is recorded, and its allocation taken out of the table, before the allocation is given back: from
 * then on another thread may get the address.
 */
#ifndef KYMO_CAPTURE_ALLOC_H
#define KYMO_CAPTURE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "buffer/record.h"

/* Of a thread; begins at 0, so a thread's first allocation comes here. */
struct kymo_alloc_self {
    int64_t until;  /* bytes to the next draw */
    uint64_t count; /* allocations so far */
};
extern __thread struct kymo_alloc_self kymo_alloc_self KYMO_TLS_IE __attribute__((aligned(16)));

/* In the address by which the table knows a block of Python's allocator. */
#define KYMO_ALLOC_OF_PYTHON 1u

/* alloc_python.c: the allocator of the process's interpreter, which is not initialized yet, gets
 * hooks. Start only. */
void kymo_alloc_python_start(void);

/* `until` where no recorder listens: as good as never. */
#define KYMO_ALLOC_NEVER (INT64_MAX / 2)

/* How many allocations that were drawn begin in a granule of 64 bytes, modulo 64 MiB; 255: that or
 * more, for good. */
#define KYMO_ALLOC_FILTER_BYTES (1u << 20)
extern uint8_t kymo_alloc_filter[KYMO_ALLOC_FILTER_BYTES];

KYMO_SIGNAL_SAFE static inline uint8_t *kymo_alloc_filter_of(uint64_t address)
{
    return &kymo_alloc_filter[(address >> 6) & (KYMO_ALLOC_FILTER_BYTES - 1)];
}

/* What a draw said: made before the allocator is called, by kymo_alloc_draw. */
struct kymo_alloc_draw {
    uint32_t is_drawn;
    uint32_t rate; /* with which */
};

/* When `until` fell below 0 by an allocation of so many bytes: whether it is drawn. Makes the
 * thread's next draw, and its first. here: KYMO_FRAME_BEGIN() of the hook. */
KYMO_SIGNAL_SAFE struct kymo_alloc_draw kymo_alloc_draw(size_t bytes, uint64_t here);

/* A drawn allocation that the allocator gave: its stack, record, and place in the table. Whatever
 * is missing, the allocation is not recorded, and that is counted. Keeps errno. usable: what
 * malloc_usable_size says; 0: not known. */
KYMO_SIGNAL_SAFE void kymo_alloc_note(struct kymo_alloc_draw draw, void *block, size_t bytes,
                                      size_t usable, enum kymo_alloc_family family, uint64_t here);

/* Before an allocation is given back whose filter is not 0. */
KYMO_SIGNAL_SAFE void kymo_alloc_note_free(void *block, uint64_t here);

/* Around realloc of an allocation whose filter is not 0, or that is drawn: out of the table before
 * the allocator is called (its id; 0: it was not drawn), and back if that failed. */
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_take_out(void *block);
KYMO_SIGNAL_SAFE void kymo_alloc_put_back(void *block, uint64_t id);
/* id: of take_out, or 0. */
KYMO_SIGNAL_SAFE void kymo_alloc_note_resize(struct kymo_alloc_draw draw, uint64_t id, void *block,
                                             size_t bytes, size_t usable, size_t usable_before,
                                             uint64_t here);

/* A mapping that was made, moved or is about to be taken away; op, how: enum kymo_map_*. */
KYMO_SIGNAL_SAFE void kymo_alloc_note_map(uint32_t op, uint32_t how, uint64_t address,
                                          uint64_t bytes, uint64_t before, uint64_t bytes_before,
                                          uint64_t here);

/* enum kymo_allocator: who answers the hooks; they know before the start. */
extern uint32_t kymo_alloc_allocator;

/* Called where threads begin and end, and where a process starts, forks and stops, by the files
 * that both libraries have; NULL in the one without allocations. */
struct kymo_capture_thread;
struct kymo_capture_process;
struct kymo_alloc_calls {
    void (*start)(struct kymo_capture_process *process); /* attached: draws are made from now on */
    void (*loaded)(const struct kymo_capture_process *process); /* the same, not in a handler, nor
                                                                 * in a forked child */
    void (*never_starts)(void);                                 /* this process is not recorded */
    void (*thread_begin)(
        struct kymo_capture_thread *thread); /* by the thread itself, ready to record */
    void (*thread_end)(struct kymo_capture_thread
                           *thread); /* by itself, while it can record; again does no harm */
    void (*forked)(struct kymo_capture_process *process); /* in a child that has attached */
    uint64_t (*memory)(uint32_t which, uint64_t *bytes);  /* where it is; 0 bytes: nowhere */
};
extern const struct kymo_alloc_calls *kymo_alloc_calls;

/* ---- alloc_random.c: how many bytes lie between two draws ---- */

/* The whole part of an exponential variable of that mean (at most UINT32_MAX). A draw that lies so
 * many bytes ahead is in the next n bytes with a chance of 1 - e^(-n/mean), to the byte. state: not
 * 0, and is not 0 afterwards. */
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_interval(uint64_t *state, uint64_t mean);

#endif
