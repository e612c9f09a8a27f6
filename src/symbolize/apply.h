/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h - puts names, files and lines into a profile.
 *
 * Layer:    symbolize (cold half); the one place of it that knows profiles
 * Flow:     frames with addresses -> [apply] -> symbolizer -> functions, symbols, lines of frames
 * Threads:  those of the profile and the symbolizer
 * Memory:   everything is copied into the profile
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_APPLY_H
#define KYMO_SYMBOLIZE_APPLY_H

#include "kymo/profile.h"
#include "symbolize/symbolize.h"

/* Frames are counted once each, however many samples they are in. */
typedef struct kymo_apply_result {
    uint64_t frames;          /* that lie in a module; generated code that came with names is one */
    uint64_t frames_named;    /* of those */
    uint64_t in_complete;     /* of frames, in modules that have symbols of all functions; where
                                 generated code came with names, also what is outside every module */
    uint64_t complete_named;  /* of those */
    uint32_t modules;         /* that have frames; a file used by several processes counts once */
    uint32_t without_symbols; /* of those, nothing was found for */
    uint32_t mismatched;      /* of those, because the file is not the one that was mapped */
    uint32_t unverified;      /* of those, neither memory nor file has a build-id */
} kymo_apply_result;

/* Zero bytes ask for nothing special. */
typedef struct kymo_apply_options {
    /* Called before a module is opened, with `wanted` filled from the profile (its path, its
     * build-id): may put other paths and an image there, which must live until the symbolizer is
     * destroyed. */
    void (*locate)(void *user, const kymo_profile *profile, uint32_t module,
                   kymo_symbol_module *wanted);
    /* Called after it was opened, or not: status->err. */
    void (*opened)(void *user, const kymo_profile *profile, uint32_t module,
                   const kymo_symbol_status *status);
    /* `done` of `total` frames; false stops with KYMO_E_INTERRUPTED. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
} kymo_apply_options;

/* A frame that lies in a file. */
typedef struct kymo_placed_frame {
    uint64_t address;
    uint32_t file; /* the first module of the same file */
    uint32_t frame;
} kymo_placed_frame;

/* All of a profile, by file, address and number: *n of them, the caller's to free. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_placed_frames_collect(const kymo_profile *profile, kymo_placed_frame **out,
                                    size_t *n);

/* Symbolizes every frame of the profile that lies in a module, but for generated code (category
 * KYMO_CATEGORY_JIT), which came with its names. options may be NULL. A module whose
 * file is not found, or is another than the one that was mapped, leaves its frames unnamed; one
 * that had no build-id in memory is read from a file that has none either. result is also filled
 * on errors: KYMO_E_NOMEM, KYMO_E_TOO_BIG (a table of the profile is full), KYMO_E_INTERRUPTED; the
 * profile stays valid, with some frames named. */
KYMO_NODISCARD
kymo_err kymo_symbolize_profile(kymo_symbolizer *symbolizer, kymo_profile *profile,
                                const kymo_apply_options *options, kymo_apply_result *result);

#endif
