/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept_modules.c - modules that were unloaded.
 *
 * A program that loads and unloads plugins has a new module each time. Those that are loaded are
 * definitions, which each segment has. One that was unloaded is in the segments that have a stack
 * with a frame in it, and is forgotten with the last such stack.
 */
#include <stdlib.h>

#include "recording/recording_kept.h"
#include "recording/recording_write_event.h"

static int is_of_module(const struct kymo_kept_chunk *chunk, uint32_t module)
{
    return chunk->id == module &&
           (chunk->type == KYMO_CHUNK_MODULE || chunk->type == KYMO_CHUNK_MODULE_UNLOAD ||
            chunk->type == KYMO_CHUNK_MODULE_IMAGE);
}

kymo_err kymo_kept_unload(const struct kymo_recording_kept *kept, struct kymo_kept_process *p,
                          uint32_t module)
{
    struct kymo_kept_module m = {.segment = kept->segment};
    size_t left = 0;
    if (kymo_key_map_find(&p->unloaded.ids, module))
        return KYMO_OK;
    KYMO_TRY(kymo_vec_reserve(&p->unloaded.list, 1));
    KYMO_TRY(kymo_key_map_put(&p->unloaded.ids, module, (uint32_t)p->unloaded.list.len));
    for (size_t i = 0; i < p->definitions.len; i++) {
        struct kymo_kept_chunk *chunk = p->definitions.data[i];
        if (m.count < KYMO_KEPT_MODULE_CHUNKS && is_of_module(chunk, module))
            m.chunks[m.count++] = chunk;
        else
            p->definitions.data[left++] = chunk;
    }
    p->definitions.len = left;
    p->unloaded.list.data[p->unloaded.list.len++] = m;
    return KYMO_OK;
}

static kymo_err need_module(kymo_recording_writer *w, struct kymo_kept_process *p, uint32_t module)
{
    const uint32_t *place = kymo_key_map_find(&p->unloaded.ids, module);
    struct kymo_kept_module *m = place ? &p->unloaded.list.data[*place] : NULL;
    if (!m || m->segment == w->kept.segment)
        return KYMO_OK;
    m->segment = w->kept.segment;
    for (uint32_t i = 0; i < m->count; i++)
        KYMO_TRY(kymo_kept_put_again(w, m->chunks[i]));
    return KYMO_OK;
}

kymo_err kymo_kept_need_modules(kymo_recording_writer *w, struct kymo_kept_process *p,
                                const kymo_event_stack *e)
{
    for (uint32_t i = 0; i < e->depth && p->unloaded.list.len > 0; i++)
        if (!(e->frames[i].flags & KYMO_EVENT_FRAME_SCRIPT))
            KYMO_TRY(need_module(w, p, e->frames[i].module));
    return KYMO_OK;
}

/* ---- their end ---- */

static void free_chunks(const struct kymo_kept_module *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        free(m->chunks[i]);
}

static kymo_err find_used(const struct kymo_kept_stacks *s, kymo_key_map *used)
{
    for (size_t i = 0; i < s->frames.len; i++)
        if (!(s->frames.data[i].flags & KYMO_EVENT_FRAME_SCRIPT))
            KYMO_TRY(kymo_key_map_add(used, s->frames.data[i].module));
    return KYMO_OK;
}

/* The places of those that stay. */
static kymo_err find_left(const struct kymo_recording_kept *kept, const struct kymo_kept_modules *m,
                          const kymo_key_map *used, kymo_key_map *ids)
{
    uint32_t count = 0;
    for (size_t i = 0; i < m->list.len; i++) {
        const struct kymo_kept_module *module = &m->list.data[i];
        const uint32_t id = module->chunks[0]->id;
        if (module->segment == kept->segment || kymo_key_map_find(used, id))
            KYMO_TRY(kymo_key_map_put(ids, id, count++));
    }
    return KYMO_OK;
}

static void keep_left(struct kymo_kept_modules *m, kymo_key_map *ids)
{
    size_t left = 0;
    for (size_t i = 0; i < m->list.len; i++) {
        const struct kymo_kept_module module = m->list.data[i];
        if (kymo_key_map_find(ids, module.chunks[0]->id))
            m->list.data[left++] = module;
        else
            free_chunks(&module);
    }
    m->list.len = left;
    kymo_key_map_deinit(&m->ids);
    m->ids = *ids;
}

kymo_err kymo_kept_modules_sweep(const struct kymo_recording_kept *kept,
                                 struct kymo_kept_process *p)
{
    kymo_key_map used = {0}, ids = {0};
    kymo_err err = find_used(&p->stacks, &used);
    if (err == KYMO_OK)
        err = find_left(kept, &p->unloaded, &used, &ids);
    kymo_key_map_deinit(&used);
    if (err == KYMO_OK)
        keep_left(&p->unloaded, &ids);
    else
        kymo_key_map_deinit(&ids);
    return err;
}

void kymo_kept_modules_deinit(struct kymo_kept_modules *m)
{
    for (size_t i = 0; i < m->list.len; i++)
        free_chunks(&m->list.data[i]);
    kymo_vec_deinit(&m->list);
    kymo_key_map_deinit(&m->ids);
}
