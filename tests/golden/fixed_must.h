/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed_must.h - what the files that build the fixed profile share.
 */
#ifndef KYMO_TESTS_FIXED_MUST_H
#define KYMO_TESTS_FIXED_MUST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kymo/profile.h"

/* A fixed profile that cannot be built is a bug of the test or of the profile. */
#define must(expr)                                                                      \
    do {                                                                                \
        kymo_err err_ = (expr);                                                         \
        if (err_ != KYMO_OK) {                                                          \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #expr, kymo_err_text(err_)); \
            abort();                                                                    \
        }                                                                               \
    } while (0)

static inline uint32_t string(kymo_profile *p, const char *text)
{
    uint32_t id;
    must(kymo_profile_add_string(p, text, strlen(text), &id));
    return id;
}

#endif
