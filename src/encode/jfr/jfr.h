/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr.h - what the parts of the writer of JFR files share.
 *
 * Layer:    encode; above profile
 * Flow:     jfr.c -> jfr_samples.c, jfr_environment.c, ... -> [jfr] -> jfr_chunk.c -> sink
 * Threads:  one owner at a time
 * Memory:   one chunk, and what jfr_pools.h, jfr_order.h say
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_JFR_JFR_H
#define KYMO_ENCODE_JFR_JFR_H

#include "encode/encoder.h"
#include "encode/jfr/jfr_bytes.h"
#include "encode/jfr/jfr_names.h"
#include "encode/jfr/jfr_pools.h"
#include "encode/jfr/jfr_types.h"
#include "profile/heap_walk.h"

/* A chunk ends with the event that makes it longer. */
#define KYMO_JFR_CHUNK_BYTES ((size_t)16 << 20)

/* The blocks of a process, as they come and go. */
typedef struct kymo_jfr_heap {
    kymo_heap_walk walk;
    kymo_heap_step step; /* the next one */
    double *weights;     /* by row */
    int is_there;
} kymo_jfr_heap;

/* Markers of a schema, or of none. */
typedef struct kymo_jfr_marker_type {
    kymo_jfr_type type;
    uint16_t flags;       /* of what its markers have; jfr_marker_types.h */
    uint32_t category;    /* of its markers; unless they have several */
    uint32_t first_field; /* of marker_fields */
} kymo_jfr_marker_type;

typedef struct kymo_jfr {
    kymo_encoder *encoder;
    const kymo_profile *p;

    /* The chunk, as it grows. */
    kymo_jfr_bytes events;
    kymo_jfr_pools pools;
    KYMO_VEC(const kymo_jfr_type *) types; /* of its events */
    uint32_t *chunk_of_type;               /* by number: the last chunk that has such an event */
    uint32_t chunk;                        /* its number, from 1 on */
    uint64_t chunk_start_ns;
    size_t chunk_bytes; /* how long it becomes */

    uint64_t start_ns; /* of the recording, since the profile's zero */
    uint64_t end_ns;

    /* Types that the profile brings along. */
    kymo_arena arena; /* of their names and fields */
    kymo_jfr_names type_names;
    uint32_t type_count;                 /* the number of the next one */
    const kymo_jfr_type **sample_types;  /* by sample type */
    const kymo_jfr_type **counter_types; /* by counter */
    kymo_jfr_marker_type *marker_types;  /* by schema; the last one is of markers without */
    uint8_t *marker_fields;              /* by field of a schema, how it is written */
    kymo_jfr_heap *heaps;                /* by process */
} kymo_jfr;

/* kymo_jfr_write with another length of chunks. */
KYMO_NODISCARD
kymo_err kymo_jfr_write_chunks(kymo_encoder *encoder, size_t chunk_bytes);

/* ---- jfr_chunk.c ---- */

/* After the types are known. KYMO_E_NOMEM: deinit frees what there is. */
KYMO_NODISCARD
kymo_err kymo_jfr_chunk_init(kymo_jfr *w);
void kymo_jfr_chunk_deinit(kymo_jfr *w);
/* Writes the chunk if it is long enough. To be called after each event. */
KYMO_NODISCARD
kymo_err kymo_jfr_pass_on(kymo_jfr *w, uint64_t now_ns);
/* Writes the chunk, which lasts until now, and begins the next one. */
KYMO_NODISCARD
kymo_err kymo_jfr_chunk_end(kymo_jfr *w, uint64_t now_ns);

/* Begins an event, as kymo_jfr_event_begin does. */
void kymo_jfr_use_type(kymo_jfr *w, const kymo_jfr_type *type);
static inline size_t kymo_jfr_begin(kymo_jfr *w, const kymo_jfr_type *type)
{
    if (w->chunk_of_type[type->id] != w->chunk)
        kymo_jfr_use_type(w, type);
    return kymo_jfr_event_begin(&w->events, type->id);
}
static inline void kymo_jfr_end(kymo_jfr *w, size_t begin)
{
    kymo_jfr_event_end(&w->events, begin);
}
static inline void kymo_jfr_put_time(kymo_jfr *w, uint64_t time_ns)
{
    kymo_jfr_varint(&w->events, kymo_since_origin(w->p, time_ns));
}

/* A string of the profile. */
static inline void kymo_jfr_put_string(kymo_jfr *w, uint32_t string)
{
    const kymo_text *text = &w->p->strings.data[string];
    kymo_jfr_string(&w->events, text->data, text->len);
}

/* ---- jfr_samples.c ---- */
KYMO_NODISCARD
kymo_err kymo_jfr_make_sample_types(kymo_jfr *w);

/* ---- jfr_counters.c ---- */
KYMO_NODISCARD
kymo_err kymo_jfr_make_counter_types(kymo_jfr *w);

/* ---- jfr_marker_types.c ---- */
/* KYMO_E_NOMEM: deinit frees what there is. */
KYMO_NODISCARD
kymo_err kymo_jfr_make_marker_types(kymo_jfr *w);
void kymo_jfr_marker_types_deinit(kymo_jfr *w);

/* ---- jfr_heap.c ---- */
/* KYMO_E_NOMEM: deinit frees what there is. */
KYMO_NODISCARD
kymo_err kymo_jfr_heap_init(kymo_jfr *w);
void kymo_jfr_heap_deinit(kymo_jfr *w);
/* What is no block. */
KYMO_NODISCARD
kymo_err kymo_jfr_put_memory(kymo_jfr *w);

/* ---- jfr_environment.c: what does not change ---- */
KYMO_NODISCARD
kymo_err kymo_jfr_put_environment(kymo_jfr *w);

#endif
