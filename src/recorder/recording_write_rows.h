/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_rows.h - how a row of a block is put together.
 *
 * Layer:    recorder
 * Flow:     recording_write_rows.c, recording_write_heap.c -> block_out
 * Threads:  the writer's
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_RECORDING_WRITE_ROWS_H
#define KYMO_RECORDER_RECORDING_WRITE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/recording_write_event.h"

struct kymo_row_numbers {
    unsigned char bytes[KYMO_FILE_ROW_NUMBERS_MAX * KYMO_FILE_NUMBER_BYTES];
    size_t len;
};

struct kymo_row {
    struct kymo_row_numbers numbers;
    const char *texts[2]; /* NULL: there is none */
    const void *bytes;
    size_t bytes_len;
    struct kymo_row_numbers later; /* what later versions have put behind all that */
};

void kymo_row_put_uleb(struct kymo_row_numbers *to, uint64_t value);
void kymo_row_put_sleb(struct kymo_row_numbers *to, int64_t value);
/* The difference from *before, which is the row before's, whichever group that is in; then the
 * value is there. Modulo 2^64, so that every one can be told. */
void kymo_row_put_change(struct kymo_row_numbers *to, uint64_t *before, uint64_t value);

/* The row goes into the group of its owner. */
KYMO_NODISCARD
kymo_err kymo_writer_put_row(kymo_recording_writer *w, struct kymo_pending_rows *rows,
                             uint32_t owner, const struct kymo_row *row);

#endif
