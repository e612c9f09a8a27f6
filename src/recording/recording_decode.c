/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode.c - payloads become events; nothing in them is trusted.
 *
 * - A count is compared with the number of remaining bytes before it is used for memory or a loop.
 * - Ids are translated into dense numbers. An event with an unknown id is dropped and counted, so
 * the
 *   handler may use every id as an index.
 * - Work is linear in the payload. Only in stacks, which repeat frames of the stack before, do a
 * few
 *   bytes give many frames (recording_decode_stacks.c).
 *
 * This file finds the decoder of each chunk; each family of chunks has a file
 * (recording_decode_event.h).
 */
#include "recording/recording_decode.h"

#include <stdlib.h>
#include <string.h>

#include "recording/recording_decode_event.h"

kymo_err kymo_decoder_init(kymo_decoder *d, const kymo_event_handler *handler, void *ctx)
{
    memset(d, 0, sizeof *d);
    d->handler = handler;
    d->ctx = ctx;
    d->batch = malloc(KYMO_DECODER_BATCH * sizeof *d->batch);
    d->frames = malloc(KYMO_EVENT_DEPTH_MAX * sizeof *d->frames);
    d->calls.batch = malloc(KYMO_DECODER_CALLS * sizeof *d->calls.batch);
    if (d->batch == NULL || d->frames == NULL || d->calls.batch == NULL) {
        kymo_decoder_deinit(d);
        return KYMO_E_NOMEM;
    }
    return KYMO_OK;
}

void kymo_decoder_deinit(kymo_decoder *d)
{
    kymo_id_map_deinit(&d->processes);
    kymo_id_map_deinit(&d->threads);
    kymo_id_map_deinit(&d->modules);
    kymo_id_map_deinit(&d->stacks);
    kymo_id_map_deinit(&d->waits);
    kymo_id_map_deinit(&d->kernel_symbols);
    kymo_id_map_deinit(&d->scripts);
    kymo_vec_free_all(d->thread_process.data, d->args.data, d->code_lines.data,
                      d->kernel_frames.data, d->symbols.functions.data, d->symbols.symbols.data,
                      d->symbols.lines.data, d->symbols.addresses.data);
    kymo_decoder_marks_deinit(&d->marks);
    for (size_t i = 0; i < d->calls.threads.len; i++)
        kymo_call_state_deinit(&d->calls.threads.data[i]);
    kymo_vec_deinit(&d->calls.threads);
    free(d->calls.batch);
    free(d->batch);
    free(d->frames);
    memset(d, 0, sizeof *d);
}

int kymo_decoder_knows(uint32_t type)
{
    switch (type) {
#define X(name, number, decoder) case KYMO_CHUNK_##name:
        KYMO_CHUNK_LIST(X)
#undef X
        return 1;
    default:
        return 0;
    }
}

static kymo_err decode(kymo_decoder *d, uint32_t type, kymo_reader *r)
{
    switch ((enum kymo_chunk_type)type) {
#define X(name, number, decoder) \
    case KYMO_CHUNK_##name:      \
        return kymo_decode_##decoder(d, r);
        KYMO_CHUNK_LIST(X)
#undef X
    }
    return KYMO_OK;
}

kymo_err kymo_decoder_chunk(kymo_decoder *d, uint32_t type, const void *payload, size_t len)
{
    if (!d->has_meta && type != KYMO_CHUNK_META)
        return KYMO_E_CORRUPT;
    kymo_reader r = kymo_reader_of(payload, len);
    d->malformed = 0;
    KYMO_TRY(decode(d, type, &r));
    if (d->malformed)
        d->damage.chunks++;
    return d->has_meta ? KYMO_OK : KYMO_E_CORRUPT;
}
