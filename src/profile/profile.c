/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <math.h>
#include <stdlib.h>

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

static void deinit_memory(kymo_profile *profile)
{
    for (size_t i = 0; i < profile->allocations.len; i++)
        kymo_vec_deinit(&profile->allocations.data[i].rows);
    kymo_vec_deinit(&profile->allocations);
    for (size_t i = 0; i < profile->mappings.len; i++)
        kymo_vec_deinit(&profile->mappings.data[i].rows);
    kymo_vec_deinit(&profile->mappings);
    kymo_vec_deinit(&profile->heaps);
    kymo_vec_deinit(&profile->ledger);
    kymo_index_deinit(&profile->ledger_index);
    kymo_vec_deinit(&profile->memory_infos);
}

void kymo_profile_destroy(kymo_profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->samples.len; i++)
        kymo_sample_columns_deinit(&profile->samples.data[i]);
    kymo_vec_deinit(&profile->samples);
    for (size_t i = 0; i < profile->markers.len; i++)
        kymo_vec_deinit(&profile->markers.data[i].rows);
    kymo_vec_deinit(&profile->markers);
    for (size_t i = 0; i < profile->counts.len; i++)
        kymo_count_columns_deinit(&profile->counts.data[i]);
    kymo_vec_deinit(&profile->counts);
    kymo_vec_deinit(&profile->counters);
    deinit_memory(profile);
    kymo_vec_deinit(&profile->marker_categories);
    kymo_vec_deinit(&profile->schemas);
    kymo_vec_deinit(&profile->schema_asked);
    kymo_vec_deinit(&profile->schema_names);
    kymo_vec_deinit(&profile->values);
    kymo_vec_deinit(&profile->marker_losses);
    kymo_vec_deinit(&profile->labels);
    kymo_vec_deinit(&profile->label_sets);
    kymo_vec_deinit(&profile->strings);
    kymo_vec_deinit(&profile->sources);
    kymo_vec_deinit(&profile->processes);
    kymo_vec_deinit(&profile->threads);
    kymo_vec_deinit(&profile->thread_order);
    kymo_vec_deinit(&profile->modules);
    kymo_vec_deinit(&profile->module_ids);
    kymo_vec_deinit(&profile->functions);
    kymo_vec_deinit(&profile->symbols);
    kymo_vec_deinit(&profile->frames);
    kymo_vec_deinit(&profile->lines);
    kymo_vec_deinit(&profile->stack_frame);
    kymo_vec_deinit(&profile->stack_parent);
    kymo_index_deinit(&profile->string_index);
    kymo_index_deinit(&profile->source_index);
    kymo_index_deinit(&profile->module_file_index);
    kymo_index_deinit(&profile->function_index);
    kymo_index_deinit(&profile->symbol_index);
    kymo_index_deinit(&profile->frame_index);
    kymo_index_deinit(&profile->stack_index);
    kymo_index_deinit(&profile->marker_category_index);
    kymo_index_deinit(&profile->schema_index);
    kymo_index_deinit(&profile->schema_name_index);
    kymo_index_deinit(&profile->marker_losses_index);
    kymo_index_deinit(&profile->label_set_index);
    kymo_arena_deinit(&profile->arena);
    free(profile);
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

uint32_t kymo_profile_count(const kymo_profile *profile, kymo_table table)
{
    size_t n = 0;
    switch (table) {
    case KYMO_TABLE_STRINGS:
        n = profile->strings.len;
        break;
    case KYMO_TABLE_SOURCES:
        n = profile->sources.len;
        break;
    case KYMO_TABLE_PROCESSES:
        n = profile->processes.len;
        break;
    case KYMO_TABLE_THREADS:
        n = profile->threads.len;
        break;
    case KYMO_TABLE_MODULES:
        n = profile->modules.len;
        break;
    case KYMO_TABLE_FUNCTIONS:
        n = profile->functions.len;
        break;
    case KYMO_TABLE_SYMBOLS:
        n = profile->symbols.len;
        break;
    case KYMO_TABLE_FRAMES:
        n = profile->frames.len;
        break;
    case KYMO_TABLE_STACKS:
        n = profile->stack_frame.len;
        break;
    case KYMO_TABLE_MARKER_CATEGORIES:
        n = profile->marker_categories.len;
        break;
    case KYMO_TABLE_SCHEMAS:
        n = profile->schemas.len;
        break;
    case KYMO_TABLE_MARKERS:
        n = profile->marker_count;
        break;
    case KYMO_TABLE_MARKER_LOSSES:
        n = profile->marker_losses.len;
        break;
    case KYMO_TABLE_VALUES:
        n = profile->values.len;
        break;
    case KYMO_TABLE_COUNTERS:
        n = profile->counters.len;
        break;
    case KYMO_TABLE_LABEL_SETS:
        n = profile->label_sets.len;
        break;
    case KYMO_TABLE_ALLOCATIONS:
        n = profile->allocation_count;
        break;
    case KYMO_TABLE_MAPPINGS:
        n = profile->mapping_count;
        break;
    case KYMO_TABLE_COUNT:
        break;
    }
    return (uint32_t)n;
}
