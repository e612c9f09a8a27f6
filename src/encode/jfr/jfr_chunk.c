/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_chunk.c - a chunk is a file by itself: a header, events, their constants, their types.
 *
 * The header says how long the chunk is and where its parts begin, so a chunk is made in memory and
 * written at once. A file of the chunks so far is complete at any time.
 */
#include <stdlib.h>

#include "encode/jfr/jfr.h"
#include "encode/jfr/jfr_metadata.h"

enum { HEADER_BYTES = 68, COMPRESSED_INTEGERS = 1 };
#define TICKS_PER_SECOND 1000000000u

kymo_err kymo_jfr_chunk_init(kymo_jfr *w)
{
    w->chunk = 1;
    w->chunk_start_ns = w->start_ns;
    w->chunk_of_type = calloc(w->type_count, sizeof *w->chunk_of_type);
    KYMO_TRY(kymo_jfr_pools_init(&w->pools, w->p));
    return w->chunk_of_type ? KYMO_OK : KYMO_E_NOMEM;
}

void kymo_jfr_chunk_deinit(kymo_jfr *w)
{
    kymo_jfr_bytes_deinit(&w->events);
    kymo_jfr_pools_deinit(&w->pools);
    kymo_vec_deinit(&w->types);
    free(w->chunk_of_type);
}

void kymo_jfr_use_type(kymo_jfr *w, const kymo_jfr_type *type)
{
    w->chunk_of_type[type->id] = w->chunk;
    if (kymo_vec_push(&w->types, type) != KYMO_OK)
        w->events.failed = 1;
}

struct parts {
    kymo_jfr_bytes header;
    kymo_jfr_bytes constants;
    kymo_jfr_bytes metadata;
};

static void put_header(const kymo_jfr *w, struct parts *parts, uint64_t now_ns)
{
    kymo_jfr_bytes *out = &parts->header;
    uint64_t constants_at = HEADER_BYTES + w->events.len;
    uint64_t metadata_at = constants_at + parts->constants.len;
    kymo_jfr_raw(out, "FLR", 4);
    kymo_jfr_u16(out, 2); /* version 2.0 */
    kymo_jfr_u16(out, 0);
    kymo_jfr_u64(out, metadata_at + parts->metadata.len);
    kymo_jfr_u64(out, constants_at);
    kymo_jfr_u64(out, metadata_at);
    kymo_jfr_u64(out, w->p->meta.origin_realtime_ns + w->chunk_start_ns);
    kymo_jfr_u64(out, now_ns - w->chunk_start_ns);
    kymo_jfr_u64(out, w->chunk_start_ns);
    kymo_jfr_u64(out, TICKS_PER_SECOND);
    kymo_jfr_u32(out, COMPRESSED_INTEGERS);
}

static kymo_err put_part(kymo_jfr *w, const kymo_jfr_bytes *part)
{
    return part->failed ? KYMO_E_NOMEM : kymo_sink_write(w->encoder->sink, part->data, part->len);
}

static kymo_err write_parts(kymo_jfr *w, struct parts *parts, uint64_t now_ns)
{
    if (w->events.failed || kymo_jfr_pools_failed(&w->pools))
        return KYMO_E_NOMEM;
    kymo_jfr_pools_write(&w->pools, &parts->constants, w->chunk_start_ns);
    KYMO_TRY(kymo_jfr_metadata_write(&parts->metadata, w->types.data, w->types.len,
                                     w->chunk_start_ns, w->chunk));
    put_header(w, parts, now_ns);
    KYMO_TRY(put_part(w, &parts->header));
    KYMO_TRY(put_part(w, &w->events));
    KYMO_TRY(put_part(w, &parts->constants));
    return put_part(w, &parts->metadata);
}

kymo_err kymo_jfr_chunk_end(kymo_jfr *w, uint64_t now_ns)
{
    struct parts parts = {0};
    now_ns = now_ns > w->chunk_start_ns ? now_ns : w->chunk_start_ns;
    kymo_err err = write_parts(w, &parts, now_ns);
    kymo_jfr_bytes_deinit(&parts.header);
    kymo_jfr_bytes_deinit(&parts.constants);
    kymo_jfr_bytes_deinit(&parts.metadata);
    kymo_jfr_bytes_clear(&w->events);
    kymo_jfr_pools_clear(&w->pools);
    w->types.len = 0;
    w->chunk++;
    w->chunk_start_ns = now_ns;
    return err;
}

kymo_err kymo_jfr_pass_on(kymo_jfr *w, uint64_t now_ns)
{
    if (w->events.failed)
        return KYMO_E_NOMEM;
    if (kymo_likely(w->events.len + kymo_jfr_pools_size(&w->pools) < w->chunk_bytes))
        return KYMO_OK;
    return kymo_jfr_chunk_end(w, now_ns);
}
