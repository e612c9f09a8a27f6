/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_name.h - splits the name that a JIT compiler gave its code into function and source
 * location.
 *
 * Layer:    profile (cold half only)
 * Flow:     names of perf maps and jitdumps -> [code_name] -> code_map.c
 * Threads:  any
 * Memory:   the result points into the name
 * Signals:  not for handlers
 *
 * Known are the names of V8 (node, Chromium: "JS:*parse /srv/app.js:10:3"), PHP ("JIT$parse") and
 * CPython ("py::parse:/srv/app.py"). Any other name is taken as the function's name.
 */
#ifndef KYMO_PROFILE_CODE_NAME_H
#define KYMO_PROFILE_CODE_NAME_H

#include <stddef.h>
#include <stdint.h>

typedef struct kymo_code_name {
    const char *function; /* not NUL-terminated */
    size_t function_len;
    const char *file; /* not NUL-terminated; NULL: not in the name */
    size_t file_len;
    uint32_t line; /* where the function begins; 0: not in the name */
} kymo_code_name;

kymo_code_name kymo_code_name_split(const char *name);

#endif
