/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_fixture.h - tests of what events become in a profile: each has an empty one.
 */
#ifndef KYMO_TESTS_INGEST_FIXTURE_H
#define KYMO_TESTS_INGEST_FIXTURE_H

#include "profile/ingest.h"
#include "unit.h"

static kymo_profile *profile;
static kymo_ingest *ingest;

/* The set-up and the teardown of such a test. */
static inline int begin(void **state)
{
    (void)state;
    if (kymo_profile_create(&profile) != KYMO_OK)
        return -1;
    return kymo_ingest_create(profile, &ingest) == KYMO_OK ? 0 : -1;
}

static inline int end(void **state)
{
    (void)state;
    kymo_ingest_destroy(ingest);
    kymo_profile_destroy(profile);
    return 0;
}

#endif
