/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

/* Two libraries may each have a static function of the same name in the same file (a header):
 * they are two functions. A library that is mapped twice has it once. So the module of a
 * function is the first module with the same file. */
static uint64_t function_hash(const kymo_function *f)
{
    uint64_t words[3] = {(uint64_t)f->name << 32 | f->system_name,
                         (uint64_t)f->source << 32 | f->start_line, f->module};
    return kymo_hash_words(words, 3, kymo_hash_secret());
}

static int same_function(const kymo_function *a, const kymo_function *b)
{
    return a->name == b->name && a->system_name == b->system_name && a->source == b->source &&
           a->start_line == b->start_line && a->module == b->module;
}

kymo_err kymo_profile_add_function(kymo_profile *profile, const kymo_function *function,
                                   uint32_t *id)
{
    kymo_function row = *function;
    if (row.name >= profile->strings.len || row.system_name >= profile->strings.len ||
        !kymo_is_row_or_none(row.source, profile->sources.len) ||
        !kymo_is_row_or_none(row.module, profile->modules.len))
        return KYMO_E_INVALID;
    if (row.system_name == row.name)
        row.system_name = 0;
    if (row.module != KYMO_NONE)
        row.module = profile->module_ids.data[row.module].file;
    uint64_t hash = function_hash(&row);
    return KYMO_TABLE_INTERN(&profile->functions, &profile->function_index, hash,
                             KYMO_FUNCTIONS_MAX, row, at,
                             same_function(&profile->functions.data[at], &row), id);
}
