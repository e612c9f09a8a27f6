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

#include "base/bytes.h"
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
/* The same of one that never was shorter. */
int kymo_read_fixed(kymo_reader *r, void *fixed, size_t size);
/* Never NULL, so that several texts can be read before r->failed is looked at. */
const char *kymo_read_text(kymo_reader *r);
/* argc texts into d->args. KYMO_E_NOMEM; a count that cannot be sets r->failed. */
KYMO_NODISCARD
kymo_err kymo_decoder_read_args(kymo_decoder *d, kymo_reader *r, uint32_t argc);

/* recording_decode_meta.c */
kymo_err kymo_decode_meta(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_loss(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_quality(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_dropped(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_note(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_end(kymo_decoder *d, kymo_reader *r);
/* recording_decode_processes.c */
kymo_err kymo_decode_process(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_process_end(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_thread(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_thread_name(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_thread_end(kymo_decoder *d, kymo_reader *r);
/* recording_decode_modules.c */
kymo_err kymo_decode_module(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_module_unload(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_module_image(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_code(kymo_decoder *d, kymo_reader *r);
/* recording_decode_stacks.c */
kymo_err kymo_decode_stacks(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_kernel_symbol(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_kernel_stack(kymo_decoder *d, kymo_reader *r);
/* recording_decode_samples.c */
kymo_err kymo_decode_wait(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_samples(kymo_decoder *d, kymo_reader *r);
/* recording_decode_marks.c */
kymo_err kymo_decode_marker_category(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_marker_type(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_site(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_literal(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_track(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_counter(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_site_counts(kymo_decoder *d, kymo_reader *r);
/* recording_decode_rows.c */
kymo_err kymo_decode_markers(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_counts(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_labels(kymo_decoder *d, kymo_reader *r);
/* recording_decode_heap.c */
kymo_err kymo_decode_memory(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_heap(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_ledger(kymo_decoder *d, kymo_reader *r);
kymo_err kymo_decode_memory_info(kymo_decoder *d, kymo_reader *r);
/* recording_decode_symbols.c */
kymo_err kymo_decode_symbols(kymo_decoder *d, kymo_reader *r);

#endif
