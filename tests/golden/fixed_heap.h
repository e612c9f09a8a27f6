/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed_heap.h - the memory of the fixed profile.
 *
 * Two processes: one of a sampled heap, in which blocks live, are freed by another thread, resized
 * twice, have labels, no stack, no bytes, one address after the other and one time for both ends;
 * and its child, which inherited two of them and freed one. Mappings of the program and of the
 * allocator, and what a recording says of itself.
 */
#ifndef KYMO_TESTS_FIXED_HEAP_H
#define KYMO_TESTS_FIXED_HEAP_H

#include "fixed_marks.h"

/* owners as for fixed_marks; also another stack of the process's. */
void fixed_heap(kymo_profile *p, const fixed_owners *owners, uint32_t other_stack);

#endif
