/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_rows.h - iterates over the rows of a chunk.
 *
 * Layer:    recording
 * Flow:     recording_decode_rows.c, recording_decode_heap.c
 * Threads:  the decoder's
 * Signals:  not for handlers
 *
 * A row is read within its own length. Its values that later rows are relative to are stored before
 * the row is checked.
 */
#ifndef KYMO_RECORDING_RECORDING_DECODE_ROWS_H
#define KYMO_RECORDING_RECORDING_DECODE_ROWS_H

#include <stdint.h>

#include "recording/recording_decode_event.h"

/* Position in the rows of one chunk. */
struct kymo_rows {
    uint32_t owner; /* as in the file: a thread, or the process of counts */
    kymo_reader row;
    /* Values of the row before. */
    uint64_t time_ns;
    uint64_t id, address, count; /* of memory */
};

typedef kymo_err kymo_decode_row(kymo_decoder *d, struct kymo_rows *rows);

KYMO_NODISCARD
kymo_err kymo_decode_rows(kymo_decoder *d, kymo_reader *r, kymo_decode_row *decode);

/* Decodes a row of labels; ids as in the file. *has_number: whether it has a number. */
void kymo_read_label(struct kymo_rows *rows, kymo_event_label *e, int *has_number);

/* Reads a number; one above 2^32 - 1 sets r->failed. */
static inline uint32_t kymo_read_u32_leb(kymo_reader *r)
{
    uint64_t value = kymo_read_uleb(r);
    if (value > UINT32_MAX)
        kymo_reader_fail(r);
    return (uint32_t)value;
}

/* Reads a difference from *before, modulo 2^64. */
static inline uint64_t kymo_read_change(struct kymo_rows *rows, uint64_t *before)
{
    *before += (uint64_t)kymo_read_sleb(&rows->row);
    return *before;
}

/* Whether a row's time is possible. */
static inline int kymo_decode_time_is_there(uint64_t time_ns)
{
    return time_ns != 0 && kymo_decode_time_is_sane(time_ns);
}

/* Replaces the file's number by the reader's. An unknown one becomes KYMO_EVENT_NONE and is
 * counted: the rest of the row is valid without it. */
static inline void kymo_decode_find_or_leave_out(kymo_decoder *d, kymo_id_map *map,
                                                 uint32_t process, uint32_t *id)
{
    uint32_t file_id = *id;
    *id = KYMO_EVENT_NONE;
    if (file_id != KYMO_EVENT_NONE && !kymo_id_map_find(map, process, file_id, id))
        d->damage.references++;
}

#endif
