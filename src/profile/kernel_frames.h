/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_frames.h - makes the frames of kernel code, whose names are in the recording.
 *
 * Layer:    profile; above base
 * Flow:     ingest_stacks.c -> [kernel_frames] -> frames, functions and symbols of a profile
 * Threads:  the ingest's
 * Memory:   the caller owns the structure; deinit frees what it points to
 * Signals:  not for handlers
 */
#ifndef KYMO_PROFILE_KERNEL_FRAMES_H
#define KYMO_PROFILE_KERNEL_FRAMES_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "kymo/profile.h"
#include "recording/events.h"

/* The kernel, or one of its modules. */
struct kymo_kernel_module {
    uint32_t name; /* string in the profile */
    uint32_t id;   /* in the profile */
};

struct kymo_kernel_symbol {
    uint32_t name; /* strings in the profile */
    uint32_t module_name;
    uint64_t address;
};

/* All zero is a valid empty state. */
typedef struct kymo_kernel_frames {
    KYMO_VEC(struct kymo_kernel_symbol) symbols; /* by number */
    KYMO_VEC(struct kymo_kernel_module) modules;
    kymo_index module_index; /* by name */
} kymo_kernel_frames;

void kymo_kernel_frames_deinit(kymo_kernel_frames *kernel);

/* Symbols must come in the order of their numbers, from 0; else KYMO_E_INVALID. */
KYMO_NODISCARD
kymo_err kymo_kernel_frames_add_symbol(kymo_kernel_frames *kernel, kymo_profile *profile,
                                       const kymo_event_kernel_symbol *event);
/* Makes the frame; the profile must have a process. KYMO_E_INVALID: no such symbol. */
KYMO_NODISCARD
kymo_err kymo_kernel_frames_find(kymo_kernel_frames *kernel, kymo_profile *profile,
                                 const kymo_event_kernel_frame *event, uint32_t *frame);

#endif
