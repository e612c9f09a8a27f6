/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode.c - payloads become events, and nothing that they say is believed.
 *
 * - A count is compared with the bytes that are there before anything is allocated or looped for
 *   it.
 * - Ids are translated into dense numbers; what refers to an unknown one is dropped and counted, so
 *   that the handler may index with every id that it gets.
 * - Work is linear in the payload. Stacks, which repeat the frames of the one before, are the only
 *   place where a few bytes stand for many (recording_decode_stacks.c).
 *
 * Here is which block is decoded where; each family of blocks has a file
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
    if (d->batch == NULL || d->frames == NULL) {
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
    kymo_vec_deinit(&d->thread_process);
    kymo_vec_deinit(&d->args);
    kymo_vec_deinit(&d->code_lines);
    kymo_id_map_deinit(&d->kernel_symbols);
    kymo_vec_deinit(&d->kernel_frames);
    kymo_vec_deinit(&d->symbols.functions);
    kymo_vec_deinit(&d->symbols.symbols);
    kymo_vec_deinit(&d->symbols.lines);
    kymo_vec_deinit(&d->symbols.addresses);
    kymo_decoder_marks_deinit(&d->marks);
    free(d->batch);
    free(d->frames);
    memset(d, 0, sizeof *d);
}

int kymo_decoder_knows(uint32_t type)
{
    switch (type) {
#define X(name, number) case KYMO_BLOCK_##name:
        KYMO_BLOCK_LIST(X)
#undef X
        return 1;
    default:
        return 0;
    }
}

static kymo_err decode(kymo_decoder *d, uint32_t type, kymo_reader *r)
{
    switch ((enum kymo_block_type)type) {
    case KYMO_BLOCK_META:
        return kymo_decode_meta(d, r);
    case KYMO_BLOCK_PROCESS:
        return kymo_decode_process(d, r);
    case KYMO_BLOCK_PROCESS_END:
        return kymo_decode_process_end(d, r);
    case KYMO_BLOCK_THREAD:
        return kymo_decode_thread(d, r);
    case KYMO_BLOCK_THREAD_NAME:
        return kymo_decode_thread_name(d, r);
    case KYMO_BLOCK_THREAD_END:
        return kymo_decode_thread_end(d, r);
    case KYMO_BLOCK_MODULE:
        return kymo_decode_module(d, r);
    case KYMO_BLOCK_MODULE_UNLOAD:
        return kymo_decode_module_unload(d, r);
    case KYMO_BLOCK_MODULE_IMAGE:
        return kymo_decode_module_image(d, r);
    case KYMO_BLOCK_STACKS:
        return kymo_decode_stacks(d, r);
    case KYMO_BLOCK_WAIT:
        return kymo_decode_wait(d, r);
    case KYMO_BLOCK_SAMPLES:
        return kymo_decode_samples(d, r);
    case KYMO_BLOCK_LOSS:
        return kymo_decode_loss(d, r);
    case KYMO_BLOCK_QUALITY:
        return kymo_decode_quality(d, r);
    case KYMO_BLOCK_DROPPED:
        return kymo_decode_dropped(d, r);
    case KYMO_BLOCK_NOTE:
        return kymo_decode_note(d, r);
    case KYMO_BLOCK_END:
        return kymo_decode_end(d, r);
    case KYMO_BLOCK_CODE:
        return kymo_decode_code(d, r);
    case KYMO_BLOCK_KERNEL_SYMBOL:
        return kymo_decode_kernel_symbol(d, r);
    case KYMO_BLOCK_KERNEL_STACK:
        return kymo_decode_kernel_stack(d, r);
    case KYMO_BLOCK_MARKER_CATEGORY:
        return kymo_decode_marker_category(d, r);
    case KYMO_BLOCK_MARKER_TYPE:
        return kymo_decode_marker_type(d, r);
    case KYMO_BLOCK_SITE:
        return kymo_decode_site(d, r);
    case KYMO_BLOCK_LITERAL:
        return kymo_decode_literal(d, r);
    case KYMO_BLOCK_TRACK:
        return kymo_decode_track(d, r);
    case KYMO_BLOCK_COUNTER:
        return kymo_decode_counter(d, r);
    case KYMO_BLOCK_SITE_COUNTS:
        return kymo_decode_site_counts(d, r);
    case KYMO_BLOCK_MARKERS:
        return kymo_decode_markers(d, r);
    case KYMO_BLOCK_COUNTS:
        return kymo_decode_counts(d, r);
    case KYMO_BLOCK_LABELS:
        return kymo_decode_labels(d, r);
    case KYMO_BLOCK_MEMORY:
        return kymo_decode_memory(d, r);
    case KYMO_BLOCK_HEAP:
        return kymo_decode_heap(d, r);
    case KYMO_BLOCK_LEDGER:
        return kymo_decode_ledger(d, r);
    case KYMO_BLOCK_MEMORY_INFO:
        return kymo_decode_memory_info(d, r);
    case KYMO_BLOCK_SYMBOLS:
        return kymo_decode_symbols(d, r);
    }
    return KYMO_OK;
}

kymo_err kymo_decoder_block(kymo_decoder *d, uint32_t type, const void *payload, size_t len)
{
    if (!d->has_meta && type != KYMO_BLOCK_META)
        return KYMO_E_CORRUPT;
    kymo_reader r = kymo_reader_of(payload, len);
    d->malformed = 0;
    KYMO_TRY(decode(d, type, &r));
    if (d->malformed)
        d->damage.blocks++;
    return d->has_meta ? KYMO_OK : KYMO_E_CORRUPT;
}
