/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_heap.h - what the drain says of memory: allocations, frees, mappings.
 *
 * Layer:    buffer (cold)
 * Flow:     session -> drain.c -> [drain_heap] -> recorder/heap_events.c
 * Threads:  as drain.h
 * Signals:  not for handlers
 *
 * In the order of each thread's stream; those of different threads are not ordered against each
 * other but by their times. Checked: sizes and kinds are as record.h says, times are in ns, stacks
 * were announced. Addresses and ids are whatever the program wrote.
 */
#ifndef KYMO_BUFFER_DRAIN_HEAP_H
#define KYMO_BUFFER_DRAIN_HEAP_H

#include <stdint.h>

#include "base/error.h"
#include "buffer/drain.h"

struct kymo_drain_alloc {
    uint32_t thread; /* as in struct kymo_drain_sample */
    uint32_t stack;  /* KYMO_NO_STACK: not known */
    uint64_t time_ns;
    uint64_t id, address, bytes;
    uint64_t rate;   /* 1: each allocation was recorded */
    uint32_t slack;  /* usable beyond bytes; KYMO_ALLOC_SLACK_MAX: that or more */
    uint32_t family; /* enum kymo_alloc_family */
};

struct kymo_drain_map {
    uint32_t thread;
    uint32_t stack;
    uint64_t time_ns;
    uint64_t address, bytes, before, bytes_before;
    uint32_t op;  /* enum kymo_map_op */
    uint32_t how; /* enum kymo_map_how */
};

/* With the context of struct kymo_drain_sink, and its rules. */
struct kymo_drain_heap_sink {
    kymo_err (*alloc)(void *context, const struct kymo_drain_alloc *alloc);
    /* count: lower half of how many allocations the thread had made. */
    kymo_err (*free)(void *context, uint32_t thread, uint64_t time_ns, uint64_t id, uint32_t count);
    /* was_drawn: as in struct kymo_record_resize. */
    kymo_err (*resize)(void *context, const struct kymo_drain_alloc *now, uint64_t usable_before,
                       uint32_t was_drawn);
    kymo_err (*map)(void *context, const struct kymo_drain_map *map);
    kymo_err (*inherit)(void *context, uint32_t thread, uint64_t time_ns, uint64_t id,
                        uint64_t address);
};

/* What the program's threads have asked for so far, whether it was drawn or not, as far as they
 * told. */
struct kymo_drain_heap_totals {
    uint64_t count, bytes;
};
struct kymo_drain_heap_totals kymo_drain_heap_totals(const kymo_drain *drain);

#endif
