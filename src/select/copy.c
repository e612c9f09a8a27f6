/* SPDX-License-Identifier: Apache-2.0 */
#include "select/copy.h"

#include <stdlib.h>
#include <string.h>

#include "profile/tables.h"
#include "select/copy_state.h"

/* All maps in one piece of memory, all KYMO_NONE. */
static uint32_t *make_maps(struct kymo_copy *c)
{
    const struct {
        uint32_t **map;
        kymo_table table;
    } maps[] = {
        {&c->process, KYMO_TABLE_PROCESSES},
        {&c->thread, KYMO_TABLE_THREADS},
        {&c->module, KYMO_TABLE_MODULES},
        {&c->source, KYMO_TABLE_SOURCES},
        {&c->function, KYMO_TABLE_FUNCTIONS},
        {&c->symbol, KYMO_TABLE_SYMBOLS},
        {&c->frame, KYMO_TABLE_FRAMES},
        {&c->stack, KYMO_TABLE_STACKS},
        {&c->category, KYMO_TABLE_MARKER_CATEGORIES},
        {&c->schema, KYMO_TABLE_SCHEMAS},
        {&c->labels, KYMO_TABLE_LABEL_SETS},
        {&c->loss, KYMO_TABLE_MARKER_LOSSES},
        {&c->marker_name, KYMO_TABLE_STRINGS},
    };
    size_t sum = c->from->lines.len + 1;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(maps); i++)
        sum += kymo_profile_count(c->from, maps[i].table);
    uint32_t *all = malloc(sum * sizeof *all);
    uint32_t *next = all;
    if (!all)
        return NULL;
    memset(all, 0xff, sum * sizeof *all);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(maps); i++) {
        *maps[i].map = next;
        next += kymo_profile_count(c->from, maps[i].table);
    }
    c->line_owner = next;
    return all;
}

static void take_types(struct kymo_copy *c)
{
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(c->from, &count);
    for (uint32_t i = 0; i < count; i++)
        c->adds[i] = types[i].adds;
}

static kymo_err copy_tables(struct kymo_copy *c)
{
    KYMO_TRY(kymo_copy_whole(c));
    KYMO_TRY(kymo_copy_label_sets(c));
    KYMO_TRY(kymo_copy_processes(c));
    KYMO_TRY(kymo_copy_modules(c));
    KYMO_TRY(kymo_copy_code(c));
    KYMO_TRY(kymo_copy_marks(c));
    KYMO_TRY(kymo_copy_memory(c));
    KYMO_TRY(kymo_copy_samples(c));
    return kymo_profile_finish(c->to);
}

kymo_err kymo_profile_copy(const kymo_profile *from, const kymo_keep *keep,
                           kymo_sanitizer *sanitizer, kymo_profile **out)
{
    struct kymo_copy c = {.from = from, .keep = keep, .sanitizer = sanitizer};
    uint32_t *maps = make_maps(&c);
    kymo_err err = maps ? kymo_profile_create(&c.to) : KYMO_E_NOMEM;
    if (err == KYMO_OK) {
        take_types(&c);
        kymo_copy_need(&c);
        err = copy_tables(&c);
    }
    free(maps);
    kymo_str_deinit(&c.text);
    if (err == KYMO_OK)
        *out = c.to;
    else
        kymo_profile_destroy(c.to);
    return err;
}
