/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_sums.h - adds up allocations of the same thread, stack, labels and size class, for formats
 * whose samples are sums.
 *
 * Layer:    encode; above profile
 * Flow:     encoder_heap -> [heap_sums] -> pprof_heap.c, otlp_heap.c
 * Threads:  one owner at a time
 * Memory:   twenty bytes for each allocation of a process
 * Signals:  not for handlers
 *
 * Values are estimates for all allocations, not only the sampled ones; rounded values add up to the
 * rounded sum. There are four size classes per power of two. Types and their order are those of
 * Go's heap profiles, whose names servers recognize.
 */
#ifndef KYMO_ENCODE_HEAP_SUMS_H
#define KYMO_ENCODE_HEAP_SUMS_H

#include "encode/encoder_heap.h"

/* Objects and bytes that were allocated, and those that live. */
#define KYMO_HEAP_VALUES 4u

/* What is done with the sums; see kymo_sums_writer. */
struct kymo_heap_writer {
    kymo_err (*thread)(void *context, const kymo_thread *thread);
    kymo_err (*labels)(void *context, uint32_t set);
    /* The values from kymo_heap_first_value on; one of them is not 0. */
    kymo_err (*sample)(void *context, uint32_t stack, const int64_t values[KYMO_HEAP_VALUES],
                       uint64_t mean_bytes);
};

/* The first of the values that the options want. */
uint32_t kymo_heap_first_value(const kymo_encoder *encoder);
/* The name and the unit of a value. */
const char *kymo_heap_value_name(const kymo_encoder_heap *view, uint32_t value);
const char *kymo_heap_value_unit(uint32_t value);
/* Bytes per sample, of the main process; 1: it is not known. */
uint64_t kymo_heap_period(const kymo_profile *profile);

KYMO_NODISCARD
kymo_err kymo_heap_sums_write(const kymo_encoder_heap *view, kymo_encoder *encoder,
                              const struct kymo_heap_writer *writer, void *context);

#endif
