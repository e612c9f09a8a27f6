/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_modules.c - mapped files become rows of modules; the contents of modules that are not
 * files.
 *
 * A mapping may be announced twice: by the program, and by the recorder that looked at it from
 * outside. It becomes one row.
 */
#include "profile/ingest_state.h"

#include <string.h>

#define SAME_PLACE_MAX 8 /* modules at one address that are compared */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* libkymo-preload.so, libkymo-preload-alloc.so and libkymo.so, with any version suffix. */
static int is_ours(const char *path)
{
    const char *name = name_of(path);
    return strncmp(name, "libkymo-preload.so", 18) == 0 ||
           strncmp(name, "libkymo-preload-alloc.so", 24) == 0 ||
           strncmp(name, "libkymo.so", 10) == 0;
}

/* The module of the package greenlet, _greenlet.cpython-311-x86_64-linux-gnu.so: gevent, eventlet
 * and SQLAlchemy use it. */
static int makes_stacks(const char *path)
{
    return strncmp(name_of(path), "_greenlet.", 10) == 0;
}

/* Whether `row` is the mapping of this event, announced twice: the same file at the same place,
 * not unloaded in between. */
static int is_same_module(const kymo_module *row, const kymo_event_module *e)
{
    return row->process == e->process && row->start == e->start && row->end == e->end &&
           row->load_bias == e->load_bias && row->file_offset == e->file_offset &&
           (row->unload_ns == 0 || e->load_ns < row->unload_ns) &&
           row->build_id_len == e->build_id_len &&
           (e->build_id_len == 0 || memcmp(row->build_id, e->build_id, e->build_id_len) == 0) &&
           strcmp(row->path, e->path) == 0;
}

kymo_err kymo_ingest_on_module(void *ctx, const kymo_event_module *e)
{
    kymo_ingest *in = ctx;
    if (e->module != in->modules.len || e->process >= in->processes.len ||
        e->build_id_len > KYMO_BUILD_ID_MAX || e->path == NULL)
        return KYMO_E_INVALID;
    const uint64_t place[] = {e->process, e->start, e->end, e->load_bias};
    uint64_t hash = kymo_hash_words(place, KYMO_ARRAY_LEN(place), kymo_hash_secret());
    struct kymo_ingest_module module = {.ours = (uint8_t)is_ours(e->path),
                                        .makes_stacks = (uint8_t)makes_stacks(e->path)};
    size_t probe = 0;
    uint32_t at;
    int tries = 0;
    /* Comparing a few is enough: several modules at one place were loaded there one after the
     * other, and a duplicate row does no harm. Modules beyond the limit are not added to the
     * index, where they would only make searches longer. */
    for (; tries < SAME_PLACE_MAX && kymo_index_find(&in->module_index, hash, &probe, &at);
         tries++) {
        module.id = in->modules.data[at].id;
        if (is_same_module(kymo_profile_module(in->profile, module.id), e))
            return kymo_vec_push(&in->modules, module);
    }
    kymo_module row = {
        .size = sizeof row,
        .process = e->process,
        .path = e->path,
        .build_id_len = e->build_id_len,
        .is_main = e->is_main != 0,
        .category = KYMO_CATEGORY_AUTO,
        .start = e->start,
        .end = e->end,
        .file_offset = e->file_offset,
        .load_bias = e->load_bias,
        .load_ns = e->load_ns,
    };
    if (e->build_id_len > 0)
        memcpy(row.build_id, e->build_id, e->build_id_len);
    KYMO_TRY(kymo_profile_add_module(in->profile, &row, &module.id));
    if (tries < SAME_PLACE_MAX)
        KYMO_TRY(kymo_index_put(&in->module_index, hash, e->module));
    return kymo_vec_push(&in->modules, module);
}

kymo_err kymo_ingest_on_module_unload(void *ctx, const kymo_event_module_unload *e)
{
    kymo_ingest *in = ctx;
    if (e->module >= in->modules.len)
        return KYMO_E_INVALID;
    return kymo_profile_set_module_unload(in->profile, in->modules.data[e->module].id, e->time_ns);
}

kymo_err kymo_ingest_on_module_image(void *ctx, const kymo_event_module_image *e)
{
    kymo_ingest *in = ctx;
    if (e->module >= in->modules.len)
        return KYMO_E_INVALID;
    uint8_t *bytes = kymo_arena_alloc(&in->arena, e->len, 16);
    if (bytes == NULL)
        return KYMO_E_NOMEM;
    memcpy(bytes, e->bytes, e->len);
    return kymo_vec_push(&in->images,
                         (kymo_ingest_image){in->modules.data[e->module].id, e->len, bytes});
}
