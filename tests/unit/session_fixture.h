/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_fixture.h - a session in anonymous memory, for the tests of buffer/.
 */
#ifndef KYMO_TESTS_SESSION_FIXTURE_H
#define KYMO_TESTS_SESSION_FIXTURE_H

#include <sys/mman.h>

#include "buffer/session.h"
#include "sys/clock.h"

struct fixture {
    struct kymo_session *session;
    struct kymo_session_plan plan;
};

static inline struct fixture fixture_open(uint64_t bytes)
{
    struct fixture f;
    if (kymo_session_plan(bytes, &f.plan) != KYMO_OK)
        __builtin_trap();
    /* Shared, as the real one is: the drain gives pages of it back. */
    void *map = mmap(NULL, f.plan.total_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        __builtin_trap();
    f.session = map;
    f.session->clock_kind = KYMO_CLOCK_MONOTONIC;
    kymo_session_format(f.session, &f.plan);
    return f;
}

static inline void fixture_close(struct fixture *f)
{
    munmap(f->session, f->plan.total_bytes);
}

#endif
