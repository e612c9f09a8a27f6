/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed_profile.h - one small profile that has everything: what golden files and checkers start
 * from.
 *
 * Two processes that share a library, an exec that keeps the pid, inlined functions, clones with
 * one name, a frame without a name, addresses outside every file, a label, samples without a stack
 * and of no weight, threads without samples, a thread of the other one's name, names that are not
 * UTF-8 or hold what formats use as separators, and a library that took the place of another one.
 */
#ifndef KYMO_TESTS_FIXED_PROFILE_H
#define KYMO_TESTS_FIXED_PROFILE_H

#include "kymo/profile.h"

/* A finished profile, or NULL when something failed (which is printed). */
kymo_profile *fixed_profile(void);

#endif
