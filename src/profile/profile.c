/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

kymo_err kymo_profile_create(kymo_profile **out)
{
    kymo_profile *p = calloc(1, sizeof *p);
    uint32_t empty;
    if (!p)
        return KYMO_E_NOMEM;
    kymo_arena_init(&p->arena);
    kymo_err err = kymo_profile_add_string(p, "", 0, &empty);
    if (err != KYMO_OK) {
        kymo_profile_destroy(p);
        return err;
    }
    kymo_profile_init_sample_types(p);
    p->meta.size = sizeof p->meta;
    p->quality.size = sizeof p->quality;
    p->quality.achieved = NAN;
    p->quality.sampled_rate = NAN;
    p->quality.stacks_complete = NAN;
    p->quality.wall_achieved = NAN;
    p->quality.frames_symbolized = NAN;
    *out = p;
    return KYMO_OK;
}

void kymo_profile_destroy(kymo_profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->samples.len; i++)
        kymo_sample_columns_deinit(&profile->samples.data[i]);
    for (size_t i = 0; i < profile->markers.len; i++)
        kymo_vec_deinit(&profile->markers.data[i].rows);
    for (size_t i = 0; i < profile->counts.len; i++)
        kymo_count_columns_deinit(&profile->counts.data[i]);
    for (size_t i = 0; i < profile->allocations.len; i++)
        kymo_vec_deinit(&profile->allocations.data[i].rows);
    for (size_t i = 0; i < profile->mappings.len; i++)
        kymo_vec_deinit(&profile->mappings.data[i].rows);
    kymo_vec_free_all(profile->samples.data, profile->markers.data, profile->counts.data,
                      profile->counters.data, profile->allocations.data, profile->mappings.data,
                      profile->heaps.data, profile->ledger.data, profile->memory_infos.data,
                      profile->marker_categories.data, profile->schemas.data,
                      profile->schema_asked.data, profile->schema_names.data, profile->values.data,
                      profile->marker_losses.data, profile->labels.data, profile->label_sets.data,
                      profile->strings.data, profile->sources.data, profile->processes.data,
                      profile->threads.data, profile->thread_order.data, profile->modules.data,
                      profile->module_ids.data, profile->functions.data, profile->symbols.data,
                      profile->frames.data, profile->lines.data, profile->stack_frame.data,
                      profile->stack_parent.data);
    kymo_index *const indexes[] = {
        &profile->string_index,      &profile->source_index,          &profile->module_file_index,
        &profile->function_index,    &profile->symbol_index,          &profile->frame_index,
        &profile->stack_index,       &profile->marker_category_index, &profile->schema_index,
        &profile->schema_name_index, &profile->marker_losses_index,   &profile->label_set_index,
        &profile->ledger_index};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(indexes); i++)
        kymo_index_deinit(indexes[i]);
    kymo_arena_deinit(&profile->arena);
    free(profile);
}

enum { SOON = 1 << 16 }; /* rows */

/* An index that doubles has its old slots beside the new ones: those that soon will are counted as
 * if they did. */
static size_t index_bytes(const kymo_index *index)
{
    size_t slots = index->slots ? index->mask + 1 : 0;
    int grows_soon = slots > SOON && (index->used + SOON) * 3 >= slots * 2;
    return slots * sizeof *index->slots * (grows_soon ? 3 : 1);
}

#define TABLE_BYTES(table) ((table).cap * sizeof *(table).data)

static size_t sample_bytes(const kymo_sample_columns *s)
{
    size_t each = sizeof *s->time_ns + sizeof *s->weight_ns + sizeof *s->stack + sizeof *s->kind +
                  sizeof *s->state + (s->labels ? sizeof *s->labels : 0);
    return s->cap * each;
}

size_t kymo_profile_used_bytes(const kymo_profile *p)
{
    size_t bytes = p->arena.used_bytes + TABLE_BYTES(p->strings) + TABLE_BYTES(p->sources) +
                   TABLE_BYTES(p->processes) + TABLE_BYTES(p->threads) + TABLE_BYTES(p->samples) +
                   TABLE_BYTES(p->markers) + TABLE_BYTES(p->modules) + TABLE_BYTES(p->module_ids) +
                   TABLE_BYTES(p->functions) + TABLE_BYTES(p->frames) + TABLE_BYTES(p->lines) +
                   TABLE_BYTES(p->stack_frame) + TABLE_BYTES(p->stack_parent) +
                   TABLE_BYTES(p->labels) + TABLE_BYTES(p->label_sets);
    const kymo_index *const indexes[] = {
        &p->string_index, &p->source_index, &p->module_file_index, &p->function_index,
        &p->frame_index,  &p->stack_index,  &p->label_set_index};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(indexes); i++)
        bytes += index_bytes(indexes[i]);
    for (size_t i = 0; i < p->samples.len; i++)
        bytes += sample_bytes(&p->samples.data[i]);
    return bytes;
}

kymo_err kymo_profile_finish(kymo_profile *profile)
{
    if (profile->finished)
        return KYMO_OK;
    for (size_t i = 0; i < profile->samples.len; i++)
        KYMO_TRY(kymo_sample_columns_sort(&profile->samples.data[i]));
    for (size_t i = 0; i < profile->markers.len; i++)
        KYMO_TRY(kymo_marker_rows_sort(&profile->markers.data[i]));
    for (size_t i = 0; i < profile->counts.len; i++)
        KYMO_TRY(kymo_count_columns_sort(&profile->counts.data[i]));
    for (size_t i = 0; i < profile->allocations.len; i++)
        KYMO_TRY(kymo_allocation_rows_sort(&profile->allocations.data[i]));
    for (size_t i = 0; i < profile->mappings.len; i++)
        kymo_mapping_rows_sort(&profile->mappings.data[i]);
    KYMO_TRY(kymo_profile_sort_ledger(profile));
    KYMO_TRY(kymo_profile_settle_threads(profile));
    profile->finished = 1;
    return KYMO_OK;
}

static_assert(sizeof(size_t) == sizeof(uint64_t), "a count is of either type");

uint32_t kymo_profile_count(const kymo_profile *profile, kymo_table table)
{
    static const size_t counts[KYMO_TABLE_COUNT] = {
        [KYMO_TABLE_STRINGS] = offsetof(kymo_profile, strings.len),
        [KYMO_TABLE_SOURCES] = offsetof(kymo_profile, sources.len),
        [KYMO_TABLE_PROCESSES] = offsetof(kymo_profile, processes.len),
        [KYMO_TABLE_THREADS] = offsetof(kymo_profile, threads.len),
        [KYMO_TABLE_MODULES] = offsetof(kymo_profile, modules.len),
        [KYMO_TABLE_FUNCTIONS] = offsetof(kymo_profile, functions.len),
        [KYMO_TABLE_SYMBOLS] = offsetof(kymo_profile, symbols.len),
        [KYMO_TABLE_FRAMES] = offsetof(kymo_profile, frames.len),
        [KYMO_TABLE_STACKS] = offsetof(kymo_profile, stack_frame.len),
        [KYMO_TABLE_MARKER_CATEGORIES] = offsetof(kymo_profile, marker_categories.len),
        [KYMO_TABLE_SCHEMAS] = offsetof(kymo_profile, schemas.len),
        [KYMO_TABLE_MARKERS] = offsetof(kymo_profile, marker_count),
        [KYMO_TABLE_MARKER_LOSSES] = offsetof(kymo_profile, marker_losses.len),
        [KYMO_TABLE_VALUES] = offsetof(kymo_profile, values.len),
        [KYMO_TABLE_COUNTERS] = offsetof(kymo_profile, counters.len),
        [KYMO_TABLE_LABEL_SETS] = offsetof(kymo_profile, label_sets.len),
        [KYMO_TABLE_ALLOCATIONS] = offsetof(kymo_profile, allocation_count),
        [KYMO_TABLE_MAPPINGS] = offsetof(kymo_profile, mapping_count),
    };
    uint64_t n = 0;
    if (table < KYMO_TABLE_COUNT)
        memcpy(&n, (const char *)profile + counts[table], sizeof n);
    return (uint32_t)n;
}

/* ---- tables whose rows are looked up by number alone ---- */

#define ROWS(type, name, table)                                               \
    const type *kymo_profile_##name(const kymo_profile *profile, uint32_t id) \
    {                                                                         \
        return id < profile->table.len ? &profile->table.data[id] : NULL;     \
    }
ROWS(kymo_counter, counter, counters)
ROWS(kymo_frame, frame, frames)
ROWS(kymo_function, function, functions)
ROWS(kymo_marker_category, marker_category, marker_categories)
ROWS(kymo_marker_losses, marker_losses, marker_losses)
ROWS(kymo_module, module, modules)
ROWS(kymo_process, process, processes)
ROWS(kymo_schema, schema, schemas)
ROWS(kymo_symbol, symbol, symbols)
ROWS(kymo_thread, thread, threads)
