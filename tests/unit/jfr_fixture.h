/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_fixture.h - makes JFR files as the JVM and async-profiler write them, for tests of the
 * reader. Chunks are one after the other in `file`.
 */
#ifndef KYMO_TESTS_JFR_FIXTURE_H
#define KYMO_TESTS_JFR_FIXTURE_H

#include "encode/jfr/jfr_bytes.h"
#include "encode/jfr/jfr_metadata.h"
#include "import_fixture.h"

enum { JFR_HEADER_BYTES = 68 };

/* A chunk while it is made. Zero bytes are an empty one, of nanoseconds. */
struct jfr_chunk {
    kymo_jfr_bytes events;
    kymo_jfr_bytes constants; /* whole events, as they follow each other */
    kymo_jfr_bytes pools;     /* of the event of constants that is made now */
    kymo_jfr_bytes metadata;  /* if it is to be another one than that of the types */
    uint32_t pool_count;
    size_t last_constants; /* where the event before this one begins; and whether there is one */
    int has_constants;
    uint64_t start_epoch_ns, start_ticks, ticks_per_second;
};

/* Begins a pool of count constants, whose keys and values follow in c->pools. */
static inline kymo_jfr_bytes *jfr_pool(struct jfr_chunk *c, uint32_t type, uint32_t count)
{
    c->pool_count++;
    kymo_jfr_varint(&c->pools, type);
    kymo_jfr_varint(&c->pools, count);
    return &c->pools;
}

/* A pool of one text for each key from first on. */
static inline void jfr_texts(struct jfr_chunk *c, uint32_t type, uint32_t first,
                             const char *const *texts, uint32_t count)
{
    kymo_jfr_bytes *pool = jfr_pool(c, type, count);
    for (uint32_t i = 0; i < count; i++) {
        kymo_jfr_varint(pool, first + i);
        kymo_jfr_cstr(pool, texts[i]);
    }
}

static inline void jfr_constants_with(struct jfr_chunk *c, uint64_t delta)
{
    size_t begin = kymo_jfr_event_begin(&c->constants, KYMO_JFR_CONSTANTS);
    kymo_jfr_varint(&c->constants, 0); /* start */
    kymo_jfr_varint(&c->constants, 0); /* duration */
    kymo_jfr_varint(&c->constants, delta);
    kymo_jfr_u8(&c->constants, 0);
    kymo_jfr_varint(&c->constants, c->pool_count);
    kymo_jfr_raw(&c->constants, c->pools.data, c->pools.len);
    kymo_jfr_event_end(&c->constants, begin);
    c->last_constants = begin;
    c->has_constants = 1;
    c->pool_count = 0;
    kymo_jfr_bytes_clear(&c->pools);
}

/* The pools so far become an event of constants, which names the one before. */
static inline void jfr_constants(struct jfr_chunk *c)
{
    uint64_t delta =
        c->has_constants ? (uint64_t)c->last_constants - (uint64_t)c->constants.len : 0;
    jfr_constants_with(c, delta);
}

/* Appends the chunk to the file, and empties it. */
static inline void jfr_chunk_end(struct jfr_chunk *c, const kymo_jfr_type *const *types,
                                 size_t type_count, kymo_jfr_bytes *file)
{
    if (c->metadata.len == 0)
        ok(kymo_jfr_metadata_write(&c->metadata, types, type_count, 0, 1));
    if (c->pool_count)
        jfr_constants(c);
    uint64_t constants_at = JFR_HEADER_BYTES + c->events.len;
    uint64_t metadata_at = constants_at + c->constants.len;
    kymo_jfr_raw(file, "FLR", 4);
    kymo_jfr_u16(file, 2);
    kymo_jfr_u16(file, 0);
    kymo_jfr_u64(file, metadata_at + c->metadata.len);
    kymo_jfr_u64(file, c->has_constants ? constants_at + c->last_constants : 0);
    kymo_jfr_u64(file, metadata_at);
    kymo_jfr_u64(file, c->start_epoch_ns);
    kymo_jfr_u64(file, 1000000000);
    kymo_jfr_u64(file, c->start_ticks);
    kymo_jfr_u64(file, c->ticks_per_second ? c->ticks_per_second : 1000000000);
    kymo_jfr_u32(file, 1);
    kymo_jfr_raw(file, c->events.data, c->events.len);
    kymo_jfr_raw(file, c->constants.data, c->constants.len);
    kymo_jfr_raw(file, c->metadata.data, c->metadata.len);
    kymo_jfr_bytes_deinit(&c->events);
    kymo_jfr_bytes_deinit(&c->constants);
    kymo_jfr_bytes_deinit(&c->pools);
    kymo_jfr_bytes_deinit(&c->metadata);
    *c = (struct jfr_chunk){.has_constants = 0};
}

/* The file as a profile; it is freed. */
static inline kymo_profile *jfr_import(kymo_jfr_bytes *file)
{
    kymo_profile *p = NULL;
    kymo_error detail = {.message = ""};
    kymo_err err = kymo_import_memory(file->data, file->len, &p, &detail);
    if (err != KYMO_OK)
        fail_msg("%s", detail.message);
    kymo_jfr_bytes_deinit(file);
    return p;
}

static inline void jfr_import_fails(kymo_jfr_bytes *file, kymo_err err, const char *part)
{
    kymo_profile *p;
    kymo_error detail = {.message = ""};
    if (kymo_import_memory(file->data, file->len, &p, &detail) != err ||
        !strstr(detail.message, part))
        fail_msg("wanted another error about %s, got \"%s\"", part, detail.message);
    kymo_jfr_bytes_deinit(file);
}

#endif
