/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_layout.h - chunks of one event: which members are in the chunk, and at which offsets.
 *
 * Layer:    recording
 * Flow:     recording_write_event.c, recording_decode_event.c; one table for both
 * Threads:  any; it is constant
 * Memory:   static
 * Signals:  not for handlers
 *
 * Such a chunk consists of a fixed part, a structure kymo_file_*, and then texts. Lists that follow
 * are written and read by the code of each family.
 */
#ifndef KYMO_RECORDING_RECORDING_LAYOUT_H
#define KYMO_RECORDING_RECORDING_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "recording/recording_format.h"

#define KYMO_LAYOUT_FIXED_MAX 128u /* bytes of a fixed part */

struct kymo_layout_member {
    uint16_t event_at; /* offset in the event's structure */
    uint16_t file_at;  /* offset in the fixed part */
    uint16_t bytes;    /* 0: a text */
};

struct kymo_layout {
    size_t event_bytes;
    size_t file_bytes;
    size_t least_bytes; /* of the fixed part, in version 1.0 */
    size_t count;
    const struct kymo_layout_member *members; /* texts in order */
};

/* The type must have a layout. */
const struct kymo_layout *kymo_layout_of(enum kymo_chunk_type type);

#endif
