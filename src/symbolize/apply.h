/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h - puts names, files and lines into a profile.
 *
 * Layer:    symbolize (cold half); with finish.h the only part that knows profiles
 * Flow:     frames with addresses -> [apply] -> symbolizer -> functions, symbols, lines of frames
 * Threads:  those of the profile and the symbolizer
 * Memory:   everything is copied into the profile
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_APPLY_H
#define KYMO_SYMBOLIZE_APPLY_H

#include "kymo/profile.h"
#include "symbolize/symbolize.h"

/* Each frame counts once, however many samples it is in. */
typedef struct kymo_apply_result {
    uint64_t frames;          /* in a module; generated code with stored names counts as one
                               * module */
    uint64_t frames_named;    /* frames with a name */
    uint64_t in_complete;     /* frames in modules with symbols for all functions; if generated
                               * code has names, also frames outside every module */
    uint64_t complete_named;  /* frames of in_complete with a name */
    uint32_t modules;         /* modules with frames; a file used by several processes counts
                               * once */
    uint32_t without_symbols; /* modules of which no symbols were found */
    uint32_t mismatched;      /* because the file differs from the mapped one */
    uint32_t unverified;      /* neither memory nor file has a build-id */
} kymo_apply_result;

/* All zero is the default. */
typedef struct kymo_apply_options {
    /* Called before a module is opened. `wanted` holds the path and build-id of the profile. May
     * set other paths and an image, which must stay valid until the symbolizer is destroyed. */
    void (*locate)(void *user, const kymo_profile *profile, uint32_t module,
                   kymo_symbol_module *wanted);
    /* Called after the attempt to open it: see status->err. */
    void (*opened)(void *user, const kymo_profile *profile, uint32_t module,
                   const kymo_symbol_status *status);
    /* `done` of `total` frames; returning false stops with KYMO_E_INTERRUPTED. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
} kymo_apply_options;

/* A frame that lies in a file. */
typedef struct kymo_placed_frame {
    uint64_t address;
    uint32_t file; /* the first module of the same file */
    uint32_t frame;
} kymo_placed_frame;

/* The frames of a profile, by file, address and number: *n of them; the caller frees them.
 * KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_placed_frames_collect(const kymo_profile *profile, kymo_placed_frame **out,
                                    size_t *n);

/* Symbolizes all frames of the profile that are in a module, except generated code (category
 * KYMO_CATEGORY_JIT), whose names are in the recording. options may be NULL. If the file of a
 * module is not found, or differs from the mapped one, its frames stay unnamed. A module without
 * a build-id in memory is read only from a file without one. result is also set on errors:
 * KYMO_E_NOMEM, KYMO_E_TOO_BIG (a table of the profile is full), KYMO_E_INTERRUPTED; the profile
 * stays valid, with some frames named. */
KYMO_NODISCARD
kymo_err kymo_symbolize_profile(kymo_symbolizer *symbolizer, kymo_profile *profile,
                                const kymo_apply_options *options, kymo_apply_result *result);

#endif
