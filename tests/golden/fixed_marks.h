/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed_marks.h - markers, counters and labels of the fixed profile: each thing that encoders treat
 * in a way of its own, once.
 */
#ifndef KYMO_TESTS_FIXED_MARKS_H
#define KYMO_TESTS_FIXED_MARKS_H

#include "kymo/profile.h"

/* Whose they are. */
typedef struct fixed_owners {
    uint64_t origin_ns;
    uint32_t parent; /* processes */
    uint32_t child;
    uint32_t leader; /* threads of the parent */
    uint32_t worker;
    uint32_t twin;
    uint32_t other; /* of the child */
    uint32_t stack;
} fixed_owners;

/* Before the profile is finished. The worker has three samples, the twin two. */
void fixed_marks(kymo_profile *profile, const fixed_owners *of);

#endif
