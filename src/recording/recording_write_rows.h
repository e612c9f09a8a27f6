/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_rows.h - assembles a row of a chunk.
 *
 * Layer:    recording
 * Flow:     recording_write_rows.c, recording_write_heap.c -> chunk_out
 * Threads:  the writer's
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_RECORDING_WRITE_ROWS_H
#define KYMO_RECORDING_RECORDING_WRITE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "recording/recording_write_event.h"

struct kymo_row_numbers {
    unsigned char bytes[KYMO_FILE_ROW_NUMBERS_MAX * KYMO_FILE_NUMBER_BYTES];
    size_t len;
};

struct kymo_row {
    const char *texts[2]; /* NULL: none */
    const void *bytes;
    size_t bytes_len;
    struct kymo_row_numbers numbers;
    struct kymo_row_numbers later; /* members that later versions append */
};

/* Makes it empty. The bytes of numbers are not cleared: for rows of memory, of which there may
 * be millions a second, that would be most of the work. */
static inline void kymo_row_init(struct kymo_row *row)
{
    row->texts[0] = row->texts[1] = NULL;
    row->bytes = NULL;
    row->bytes_len = row->numbers.len = row->later.len = 0;
}

/* Returns the first byte behind it, at most KYMO_FILE_NUMBER_BYTES further. */
static inline unsigned char *kymo_put_uleb(unsigned char *to, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        *to++ = (unsigned char)(value | 0x80);
    *to++ = (unsigned char)value;
    return to;
}

static inline void kymo_row_put_uleb(struct kymo_row_numbers *to, uint64_t value)
{
    to->len = (size_t)(kymo_put_uleb(to->bytes + to->len, value) - to->bytes);
}

static inline void kymo_row_put_sleb(struct kymo_row_numbers *to, int64_t value)
{
    size_t at = to->len;
    for (; value < -64 || value > 63; value >>= 7)
        to->bytes[at++] = (unsigned char)((uint64_t)value | 0x80);
    to->bytes[at++] = (unsigned char)((uint64_t)value & 0x7f);
    to->len = at;
}

/* Puts the difference from *before, the value of the row before in any group, and updates it.
 * Modulo 2^64, so all values are possible. */
static inline void kymo_row_put_change(struct kymo_row_numbers *to, uint64_t *before,
                                       uint64_t value)
{
    kymo_row_put_sleb(to, (int64_t)(value - *before));
    *before = value;
}

/* Adds the row to the group of its owner. */
KYMO_NODISCARD
kymo_err kymo_writer_put_row(kymo_recording_writer *w, struct kymo_pending_rows *rows,
                             uint32_t owner, const struct kymo_row *row);

#endif
