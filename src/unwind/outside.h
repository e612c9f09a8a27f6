/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outside.h - what a walk of another process's stack reads instead of its own memory.
 *
 * Layer:    unwind; above base
 * Flow:     observe/remote.c: a copy of the stack, unwind information -> [outside] -> unwind.c
 * Threads:  one walk at a time
 * Memory:   borrows everything
 * Signals:  not used by handlers, whose walker has none
 *
 * The walk is the same one. It starts with the registers that are known: of a thread that waits in
 * a system call /proc tells the stack pointer and the pc, and no others. Where a frame needs one
 * that no frame below it has saved, the walk ends with KYMO_WALK_UNSUPPORTED.
 */
#ifndef KYMO_UNWIND_OUTSIDE_H
#define KYMO_UNWIND_OUTSIDE_H

#include <stdint.h>

#include "unwind/cfi.h"

/* A module of the other process. images: its segments, or parts of them, that hold .eh_frame_hdr
 * and .eh_frame; their addresses are those of the other process. */
struct kymo_outside_module {
    uint64_t map_start;
    uint64_t map_end;
    uint64_t eh_frame_hdr; /* 0: it has none */
    const struct kymo_cfi_image *images;
    uint32_t image_count;
};

struct kymo_outside {
    const struct kymo_outside_module *modules; /* sorted, without overlaps */
    uint32_t count;
    uint32_t
        known; /* mask of registers by DWARF number, whose values are those of the walk's regs */
    const uint8_t *copy; /* of the stack at [lo, hi) */
    uint64_t lo;
    uint64_t hi;
};

#endif
