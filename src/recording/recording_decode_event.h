/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_event.h - helpers that the decoders share, and the list of decoders.
 *
 * Layer:    recording
 * Flow:     recording_decode.c (which chunk) -> recording_decode_*.c (its payload) -> handler
 * Threads:  the decoder's
 * Memory:   results point into the payload or the decoder's scratch
 * Signals:  not for handlers
 *
 * A decoder reads all of a chunk, checks r->failed once, then checks ids and values. An error stops
 * the whole reading; damage of one chunk or event is only counted.
 */
#ifndef KYMO_RECORDING_RECORDING_DECODE_EVENT_H
#define KYMO_RECORDING_RECORDING_DECODE_EVENT_H

#include <stdint.h>

#include "base/reader.h"
#include "recording/recording_decode.h"
#include "recording/recording_format.h"

/* Calls the handler if it has a function for this event. */
#define KYMO_DELIVER(d, name, event) \
    ((d)->events++, (d)->handler->name == NULL ? KYMO_OK : (d)->handler->name((d)->ctx, (event)))

/* Drops an event, and counts it. */
static inline kymo_err kymo_decode_drop(uint64_t *counter)
{
    (*counter)++;
    return KYMO_OK;
}

/* Drops the rest of the chunk, and counts the chunk. */
static inline kymo_err kymo_decode_malformed(kymo_decoder *d)
{
    d->malformed = 1;
    return KYMO_OK;
}

static inline int kymo_decode_time_is_sane(uint64_t time_ns)
{
    return time_ns <= KYMO_FILE_TIME_MAX;
}

/* Reads a fixed part, which begins with its size. A longer one is of a later minor version. One
 * of an earlier version has at least `least` bytes; the rest is set to 0. Returns 0 if r->failed
 * is set. */
int kymo_read_grown(kymo_reader *r, void *fixed, size_t size, size_t least);
/* Reads fixed part and texts of a chunk with a layout (recording_layout.h) into *event. Ids are
 * as in the file; members that the chunk lacks are 0. Returns 0 if r->failed is set. */
#define kymo_read_event(r, type, event) kymo_read_event_bytes((r), (type), (event), sizeof *(event))
int kymo_read_event_bytes(kymo_reader *r, enum kymo_chunk_type type, void *event,
                          size_t event_bytes);
/* Reads a fixed part that was never shorter. */
int kymo_read_fixed(kymo_reader *r, void *fixed, size_t size);
/* Reads the head of a chunk of rows; *head_bytes is its size in the file, larger in a later
 * minor version. Returns 0 if r->failed is set. */
int kymo_read_head(kymo_reader *r, void *head, size_t size, uint16_t *head_bytes);
/* Reads argc texts into d->args. KYMO_E_NOMEM; an impossible count sets r->failed. */
KYMO_NODISCARD
kymo_err kymo_decoder_read_args(kymo_decoder *d, kymo_reader *r, uint32_t argc);

/* recording_decode_calls.c: so many of the batch. */
KYMO_NODISCARD
kymo_err kymo_deliver_calls(kymo_decoder *d, uint32_t thread, uint32_t count);
/* The same of a group that is not decoded. */
KYMO_NODISCARD
kymo_err kymo_count_calls(kymo_decoder *d, uint32_t thread, uint32_t count);

/* One function for each chunk. */
#define X(name, number, decoder) kymo_err kymo_decode_##decoder(kymo_decoder *d, kymo_reader *r);
KYMO_CHUNK_LIST(X)
#undef X

#endif
