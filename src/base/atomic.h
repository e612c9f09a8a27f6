/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomic.h - atomic operations named by their memory order.
 *
 * Layer:    base
 * Threads:  any; each release in the code says which acquire it pairs with
 * Signals:  safe; every operation is lock-free on naturally aligned words of up to 8 bytes
 *
 * Plain (not _Atomic) fields are used, since the same structures lie in memory that another
 * process maps.
 */
#ifndef KYMO_BASE_ATOMIC_H
#define KYMO_BASE_ATOMIC_H

#include <stdint.h>

#define kymo_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define kymo_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define kymo_load_seqcst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define kymo_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define kymo_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define kymo_store_seqcst(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define kymo_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define kymo_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define kymo_sub_relaxed(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define kymo_or_relaxed(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define kymo_exchange_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
/* Strong compare and exchange; on failure *expected is updated. */
#define kymo_cas_acq_rel(p, expected, v) \
    __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define kymo_cas_relaxed(p, expected, v) \
    __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define kymo_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define kymo_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#define kymo_fence_seqcst() __atomic_thread_fence(__ATOMIC_SEQ_CST)
/* Orders only against a handler that runs on this same thread. */
#define kymo_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
