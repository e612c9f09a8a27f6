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
    p->meta.size = sizeof p->meta;
    p->quality.size = sizeof p->quality;
    p->quality.achieved = NAN;
    p->quality.sampled_rate = NAN;
    p->quality.stacks_complete = NAN;
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
    kymo_vec_deinit(&profile->samples);
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
    kymo_arena_deinit(&profile->arena);
    free(profile);
}

kymo_err kymo_profile_finish(kymo_profile *profile)
{
    if (profile->finished)
        return KYMO_OK;
    for (size_t i = 0; i < profile->samples.len; i++)
        KYMO_TRY(kymo_sample_columns_sort(&profile->samples.data[i]));
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
    case KYMO_TABLE_COUNT:
        break;
    }
    return (uint32_t)n;
}
