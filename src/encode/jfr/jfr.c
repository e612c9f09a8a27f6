/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr.c - the format of Java Flight Recorder, version 2.0.
 *
 * All integers of events are varints. A tick is a nanosecond since the profile's zero. Each chunk
 * has its own constants and types, so what is kept in memory is one chunk.
 */
#include "encode/jfr/jfr_order.h"

#include "base/attr.h"

static kymo_err write_all(kymo_jfr *w)
{
    static const kymo_jfr_source_kind *const kinds[] = {&kymo_jfr_samples, &kymo_jfr_markers,
                                                        &kymo_jfr_counters, &kymo_jfr_mappings,
                                                        &kymo_jfr_blocks};
    w->type_count = KYMO_JFR_FIRST_OWN;
    KYMO_TRY(kymo_jfr_make_sample_types(w));
    KYMO_TRY(kymo_jfr_make_marker_types(w));
    KYMO_TRY(kymo_jfr_make_counter_types(w));
    KYMO_TRY(kymo_jfr_heap_init(w));
    KYMO_TRY(kymo_jfr_chunk_init(w));
    KYMO_TRY(kymo_jfr_put_environment(w));
    KYMO_TRY(kymo_jfr_put_memory(w));
    KYMO_TRY(kymo_jfr_put_in_order(w, kinds, KYMO_ARRAY_LEN(kinds)));
    return kymo_jfr_chunk_end(w, w->end_ns);
}

kymo_err kymo_jfr_write_chunks(kymo_encoder *encoder, size_t chunk_bytes)
{
    kymo_jfr w = {.encoder = encoder, .p = encoder->profile, .chunk_bytes = chunk_bytes};
    kymo_encoder_range(w.p, &w.start_ns, &w.end_ns);
    encoder->total = w.p->sample_count + w.p->marker_count + w.p->count_count + w.p->mapping_count +
                     2 * w.p->allocation_count;
    kymo_err err = write_all(&w);
    kymo_jfr_chunk_deinit(&w);
    kymo_jfr_heap_deinit(&w);
    kymo_jfr_marker_types_deinit(&w);
    kymo_jfr_names_deinit(&w.type_names);
    kymo_arena_deinit(&w.arena);
    return err;
}

kymo_err kymo_jfr_write(kymo_encoder *encoder)
{
    return kymo_jfr_write_chunks(encoder, KYMO_JFR_CHUNK_BYTES);
}
