/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_event.h - what the decoders of all blocks have in common, and the list of them.
 *
 * Layer:    recording
 * Flow:     recording_decode.c (which block) -> recording_decode_*.c (its payload) -> handler
 * Threads:  the decoder's
 * Memory:   what is read points into the payload or the decoder's scratch
 * Signals:  not for handlers
 *
 * A decoder of a block reads all of it, then looks at r->failed once, then at ids and values. Only
 * what stops the whole reading is an error: what is wrong with one block or event is counted.
 */
#ifndef KYMO_RECORDING_RECORDING_DECODE_EVENT_H
#define KYMO_RECORDING_RECORDING_DECODE_EVENT_H

#include <stdint.h>

#include "base/reader.h"
#include "recording/recording_decode.h"
#include "recording/recording_format.h"

/* Calls the handler, if it wants this kind of event. */
#define KYMO_DELIVER(d, name, event) \
    ((d)->events++, (d)->handler->name == NULL ? KYMO_OK : (d)->handler->name((d)->ctx, (event)))

/* The event is left out, and counted. */
static inline kymo_err kymo_decode_drop(uint64_t *counter)
{
    (*counter)++;
    return KYMO_OK;
}

/* The rest of the block is left out, and the block counted. */
static inline kymo_err kymo_decode_malformed(kymo_decoder *d)
{
    d->malformed = 1;
    return KYMO_OK;
}

static inline int kymo_decode_time_is_sane(uint64_t time_ns)
{
    return time_ns <= KYMO_FILE_TIME_MAX;
}

/* Reads a fixed part whose first field is its size; a longer one is of a later minor version. One
 * of an earlier version may be as short as least, and the rest is zeros. 0: r->failed is set. */
int kymo_read_grown(kymo_reader *r, void *fixed, size_t size, size_t least);
/* Fixed part and texts of a block that recording_layout.h knows, into *event: ids as in the file,
 * what the block does not hold is 0. 0: r->failed is set. */
#define kymo_read_event(r, type, event) kymo_read_event_bytes((r), (type), (event), sizeof *(event))
int kymo_read_event_bytes(kymo_reader *r, enum kymo_block_type type, void *event,
                          size_t event_bytes);
/* A fixed part that never was shorter. */
int kymo_read_fixed(kymo_reader *r, void *fixed, size_t size);
/* The head of a block of rows, in which *head_bytes says how long it is: a longer one is of a later
 * minor version. 0: r->failed is set. */
int kymo_read_head(kymo_reader *r, void *head, size_t size, uint16_t *head_bytes);
/* argc texts into d->args. KYMO_E_NOMEM; a count that cannot be sets r->failed. */
KYMO_NODISCARD
kymo_err kymo_decoder_read_args(kymo_decoder *d, kymo_reader *r, uint32_t argc);

/* One function per block. */
#define X(name, number, decoder) kymo_err kymo_decode_##decoder(kymo_decoder *d, kymo_reader *r);
KYMO_BLOCK_LIST(X)
#undef X

#endif
