/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_operators.h - the operators of C++ that give and take back memory.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     the program's call -> [alloc_operators] -> alloc_count.h
 * Threads:  any; what they do is decided by a constructor
 * Signals:  as safe as the operators' own
 */
#ifndef KYMO_CAPTURE_ALLOC_OPERATORS_H
#define KYMO_CAPTURE_ALLOC_OPERATORS_H

/* A block that a trial of an operator takes back: whether that came by free, which says so. */
struct kymo_alloc_probe {
    void *block;
    int was_freed;
};
extern struct kymo_alloc_probe kymo_alloc_probed __attribute__((visibility("hidden")));

#endif
