/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_fixture.h - short ways to put rows into a profile, for the tests of its tables.
 */
#ifndef KYMO_TESTS_PROFILE_FIXTURE_H
#define KYMO_TESTS_PROFILE_FIXTURE_H

#include "profile/tables.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define ok(expr) assert_int_equal((expr), KYMO_OK)

static inline kymo_profile *new_profile(void)
{
    kymo_profile *p = NULL;
    ok(kymo_profile_create(&p));
    return p;
}

/* The teardown of tests whose set-up made a profile and *state of it. */
static inline int destroy_profile(void **state)
{
    kymo_profile_destroy(*state);
    return 0;
}

static inline uint32_t add_string(kymo_profile *p, const char *text)
{
    uint32_t id = KYMO_NONE;
    ok(kymo_profile_add_string(p, text, strlen(text), &id));
    return id;
}

static inline uint32_t add_source(kymo_profile *p, const char *path)
{
    uint32_t id = KYMO_NONE;
    ok(kymo_profile_add_source(p, path, strlen(path), &id));
    return id;
}

static inline uint32_t add_process(kymo_profile *p, int32_t pid, uint64_t start_ns)
{
    uint32_t id = KYMO_NONE;
    ok(kymo_profile_add_process(
        p, &(kymo_process){.size = sizeof(kymo_process), .pid = pid, .start_ns = start_ns}, &id));
    return id;
}

static inline uint32_t add_thread(kymo_profile *p, uint32_t process, int32_t tid, uint64_t start_ns)
{
    uint32_t id = KYMO_NONE;
    ok(kymo_profile_add_thread(
        p,
        &(kymo_thread){
            .size = sizeof(kymo_thread), .process = process, .tid = tid, .start_ns = start_ns},
        &id));
    return id;
}

static inline uint32_t add_module(kymo_profile *p, uint32_t process, const char *path,
                                  const char *build_id)
{
    uint32_t id = KYMO_NONE;
    kymo_module m = {.size = sizeof m,
                     .process = process,
                     .path = path,
                     .build_id_len = (uint32_t)strlen(build_id),
                     .start = 0x1000,
                     .end = 0x9000};
    memcpy(m.build_id, build_id, strlen(build_id));
    ok(kymo_profile_add_module(p, &m, &id));
    return id;
}

static inline uint32_t add_function(kymo_profile *p, const char *name, uint32_t module)
{
    uint32_t id = KYMO_NONE;
    kymo_function f = {.name = add_string(p, name), .source = KYMO_NONE, .module = module};
    ok(kymo_profile_add_function(p, &f, &id));
    return id;
}

static inline uint32_t add_frame(kymo_profile *p, uint32_t module, uint64_t address)
{
    uint32_t id = KYMO_NONE;
    ok(kymo_profile_add_frame(p, module, address, KYMO_CATEGORY_AUTO, &id));
    return id;
}

static inline uint32_t add_stack(kymo_profile *p, uint32_t parent, uint32_t frame)
{
    uint32_t id = KYMO_NONE;
    ok(kymo_profile_add_stack(p, parent, frame, &id));
    return id;
}

#endif
