/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing_allocation.h - lets one allocation fail, for tests that go through all of them.
 *
 * The linker puts these functions in front of malloc, calloc and realloc (-Wl,--wrap). To be
 * included by one file of a test.
 */
#ifndef KYMO_TEST_FAILING_ALLOCATION_H
#define KYMO_TEST_FAILING_ALLOCATION_H

#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "unit.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long until_failure = -1; /* -1: none is to fail */

static bool fails(void)
{
    if (until_failure < 0)
        return false;
    return until_failure-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

/* Lets the first allocation of run fail, then the second, until none is left to fail. Returns how
 * many failed. Each failure must come out as KYMO_E_NOMEM. */
static inline long fail_each_allocation(kymo_err (*run)(void *), void *context)
{
    for (long failed = 0;; failed++) {
        until_failure = failed;
        kymo_err err = run(context);
        bool reached = until_failure < 0;
        until_failure = -1;
        if (!reached) {
            assert_int_equal(err, KYMO_OK);
            return failed;
        }
        assert_int_equal(err, KYMO_E_NOMEM);
    }
}

#endif
