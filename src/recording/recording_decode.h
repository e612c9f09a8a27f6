/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode.h - the upper half of the reader: payloads of chunks become events.
 *
 * Layer:    recording; above profile (events.h), base
 * Flow:     recording_read.c -> [decoder] -> a kymo_event_handler
 * Threads:  one owner at a time
 * Memory:   the caller owns the structure; init to deinit, it owns tables from malloc
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_RECORDING_DECODE_H
#define KYMO_RECORDING_RECORDING_DECODE_H

#include "base/id_map.h"
#include "base/vec.h"
#include "recording/recording.h"
#include "recording/recording_calls.h"
#include "recording/recording_decode_marks.h"

#define KYMO_DECODER_BATCH 1024u /* samples */
#define KYMO_DECODER_CALLS 1024u

typedef struct kymo_decoder {
    const kymo_event_handler *handler;
    void *ctx;
    uint64_t events; /* delivered; each sample counts */
    kymo_recording_damage damage;
    int has_meta;
    int ended;     /* END was delivered */
    int malformed; /* the payload violates its type's format */

    kymo_id_map processes;
    kymo_id_map threads;
    kymo_id_map modules;
    kymo_id_map stacks;
    kymo_id_map waits;
    kymo_id_map kernel_symbols;
    kymo_id_map scripts;
    KYMO_VEC(uint32_t) thread_process; /* by thread: number of its process */
    struct kymo_decoder_marks marks;

    KYMO_VEC(const char *) args;                     /* scratch: argv of one event */
    KYMO_VEC(kymo_event_code_line) code_lines;       /* scratch: lines of one event */
    KYMO_VEC(kymo_event_kernel_frame) kernel_frames; /* scratch: of one stack */
    struct kymo_decoder_symbols {                    /* scratch: of one event */
        KYMO_VEC(kymo_event_symbol_function) functions;
        KYMO_VEC(kymo_event_symbol) symbols;
        KYMO_VEC(kymo_event_symbol_line) lines;
        KYMO_VEC(kymo_event_symbol_address) addresses;
    } symbols;
    struct kymo_decoder_calls {
        struct kymo_call_reader reader;
        KYMO_VEC(struct kymo_call_state) threads; /* by thread */
        uint32_t process;                         /* whose scripts the reader remembers */
        kymo_event_call *batch;                   /* scratch: KYMO_DECODER_CALLS of them */
    } calls;
    kymo_event_sample *batch; /* scratch: KYMO_DECODER_BATCH samples, for one call of the handler */

    /* Frames of the last stack of the chunk, innermost first, right-aligned in an array of
     * KYMO_EVENT_DEPTH_MAX, so that shared outermost frames need not be moved. */
    kymo_event_frame *frames;
    uint32_t depth;
    uint32_t bad_from; /* counted from outside: the first frame of an unknown module; else depth */
    uint32_t told;     /* so many outermost frames are equal to those of the last delivered event */
} kymo_decoder;

/* KYMO_E_NOMEM leaves nothing to deinit. */
KYMO_NODISCARD
kymo_err kymo_decoder_init(kymo_decoder *d, const kymo_event_handler *handler, void *ctx);
void kymo_decoder_deinit(kymo_decoder *d);

/* Decodes one payload (uncompressed, with a correct checksum) and calls the handler for its
 * events. Damage is counted in d->damage. Fails with the handler's error, KYMO_E_NOMEM, or
 * KYMO_E_CORRUPT if the first chunk is not META. */
KYMO_NODISCARD
kymo_err kymo_decoder_chunk(kymo_decoder *d, uint32_t type, const void *payload, size_t len);

/* Whether this version knows the type. */
int kymo_decoder_knows(uint32_t type);

#endif
