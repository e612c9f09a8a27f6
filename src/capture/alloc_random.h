/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_random.h - how many bytes lie between two draws.
 *
 * Layer:    capture
 * Flow:     alloc.c -> [random]
 * Threads:  whose the state is
 * Signals:  safe: a handler in the middle may get the same number again, and no worse
 */
#ifndef KYMO_CAPTURE_ALLOC_RANDOM_H
#define KYMO_CAPTURE_ALLOC_RANDOM_H

#include <stdint.h>

#include "base/attr.h"

/* The whole part of an exponential variable of that mean (at most UINT32_MAX). A draw that lies so
 * many bytes ahead is in the next n bytes with a chance of 1 - e^(-n/mean), to the byte. state: not
 * 0, and is not 0 afterwards. */
KYMO_SIGNAL_SAFE uint64_t kymo_alloc_interval(uint64_t *state, uint64_t mean);

#endif
