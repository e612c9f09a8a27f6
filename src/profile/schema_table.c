/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_table.c - marker types: their names and fields.
 *
 * Two libraries, or two versions of one, may declare types of the same name with different fields.
 * Both are kept: the second is shown as "NAME (2)". The original name is part of what identifies a
 * schema, so adding the same one again finds it.
 */
#include "profile/tables.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define NAME_MAX_SHOWN 256 /* bytes of a name that gets a number */

static uint64_t schema_hash(const kymo_schema *s)
{
    uint64_t words[] = {
        (uint64_t)s->name << 32 | s->chart,
        (uint64_t)s->tooltip << 32 | s->table,
        (uint64_t)s->description << 32 | s->color_key,
        (uint64_t)s->show << 32 | s->is_stack_based,
        (uint64_t)s->field_count << 32 | s->row_count,
        s->graph_count,
    };
    uint64_t hash = kymo_hash_words(words, sizeof words / sizeof *words, kymo_hash_secret());
    hash = kymo_hash_bytes(s->fields, s->field_count * sizeof *s->fields, hash);
    hash = kymo_hash_bytes(s->rows, s->row_count * sizeof *s->rows, hash);
    return kymo_hash_bytes(s->graphs, s->graph_count * sizeof *s->graphs, hash);
}

static int same_bytes(const void *a, const void *b, size_t len)
{
    return len == 0 || memcmp(a, b, len) == 0;
}

int kymo_schema_is_same(const kymo_schema *a, const kymo_schema *b)
{
    return a->chart == b->chart && a->tooltip == b->tooltip && a->table == b->table &&
           a->description == b->description && a->color_key == b->color_key && a->show == b->show &&
           a->is_stack_based == b->is_stack_based && a->field_count == b->field_count &&
           a->row_count == b->row_count && a->graph_count == b->graph_count &&
           same_bytes(a->fields, b->fields, a->field_count * sizeof *a->fields) &&
           same_bytes(a->rows, b->rows, a->row_count * sizeof *a->rows) &&
           same_bytes(a->graphs, b->graphs, a->graph_count * sizeof *a->graphs);
}

static int has_key_twice(const kymo_schema *s)
{
    for (uint32_t i = 0; i < s->field_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (s->fields[i].key == s->fields[k].key)
                return 1;
    return 0;
}

static int is_valid(const kymo_profile *p, const kymo_schema *s)
{
    size_t strings = p->strings.len;
    if (s->name >= strings || s->chart >= strings || s->tooltip >= strings || s->table >= strings ||
        s->description >= strings || s->color_key >= strings || has_key_twice(s))
        return 0;
    for (uint32_t i = 0; i < s->field_count; i++)
        if (s->fields[i].key >= strings || s->fields[i].label >= strings ||
            s->fields[i].columns >= strings)
            return 0;
    for (uint32_t i = 0; i < s->row_count; i++)
        if (s->rows[i].label >= strings || s->rows[i].value >= strings)
            return 0;
    for (uint32_t i = 0; i < s->graph_count; i++)
        if (s->graphs[i].key >= strings)
            return 0;
    return 1;
}

static kymo_schema_name *find_name(kymo_profile *p, uint32_t string, uint64_t *hash)
{
    uint64_t key = string;
    uint32_t found;
    *hash = kymo_hash_words(&key, 1, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&p->schema_name_index, *hash, &probe, &found);)
        if (p->schema_names.data[found].string == string)
            return &p->schema_names.data[found];
    return NULL;
}

/* Changes *name to one that no other schema has, and reserves it. */
static kymo_err take_name(kymo_profile *p, uint32_t *name)
{
    uint64_t hash;
    uint32_t shown = *name;
    kymo_schema_name *taken = find_name(p, shown, &hash);
    size_t asked = taken ? (size_t)(taken - p->schema_names.data) : 0;
    while (taken) {
        char text[NAME_MAX_SHOWN + 16];
        size_t len = kymo_utf8_copy(text, NAME_MAX_SHOWN, kymo_profile_string(p, *name),
                                    kymo_profile_string_len(p, *name));
        snprintf(text + len, sizeof text - len, " (%u)", p->schema_names.data[asked].next++);
        KYMO_TRY(kymo_profile_add_string(p, text, strlen(text), &shown));
        taken = find_name(p, shown, &hash);
    }
    kymo_schema_name row = {shown, 2};
    KYMO_TRY(KYMO_TABLE_ADD(&p->schema_names, &p->schema_name_index, hash, UINT32_MAX, row));
    *name = shown;
    return KYMO_OK;
}

static kymo_err copy_rows(kymo_profile *p, const void *rows, size_t bytes, const void **copy)
{
    *copy = NULL;
    if (bytes == 0)
        return KYMO_OK;
    void *to = kymo_arena_alloc(&p->arena, bytes, 8);
    if (!to)
        return KYMO_E_NOMEM;
    *copy = memcpy(to, rows, bytes);
    return KYMO_OK;
}

kymo_err kymo_profile_add_schema(kymo_profile *profile, const kymo_schema *schema, uint32_t *id)
{
    uint32_t found;
    if (schema->size < sizeof *schema)
        return KYMO_E_INVALID;
    if (schema->field_count > KYMO_SCHEMA_FIELDS_MAX ||
        schema->row_count > KYMO_SCHEMA_FIELDS_MAX || schema->graph_count > KYMO_SCHEMA_FIELDS_MAX)
        return KYMO_E_TOO_BIG;
    if (!is_valid(profile, schema))
        return KYMO_E_INVALID;
    kymo_schema row = *schema;
    row.size = sizeof row;
    row.is_stack_based = schema->is_stack_based != 0;
    uint64_t hash = schema_hash(&row);
    for (size_t probe = 0; kymo_index_find(&profile->schema_index, hash, &probe, &found);)
        if (profile->schema_asked.data[found] == row.name &&
            kymo_schema_is_same(&profile->schemas.data[found], &row)) {
            *id = found;
            return KYMO_OK;
        }
    if (profile->schemas.len >= KYMO_SCHEMAS_MAX)
        return KYMO_E_TOO_BIG;
    const void *copy[3];
    KYMO_TRY(copy_rows(profile, row.fields, row.field_count * sizeof *row.fields, &copy[0]));
    KYMO_TRY(copy_rows(profile, row.rows, row.row_count * sizeof *row.rows, &copy[1]));
    KYMO_TRY(copy_rows(profile, row.graphs, row.graph_count * sizeof *row.graphs, &copy[2]));
    row.fields = copy[0];
    row.rows = copy[1];
    row.graphs = copy[2];
    KYMO_TRY(take_name(profile, &row.name));
    KYMO_TRY(kymo_vec_reserve(&profile->schema_asked, 1));
    found = (uint32_t)profile->schemas.len;
    KYMO_TRY(
        KYMO_TABLE_ADD(&profile->schemas, &profile->schema_index, hash, KYMO_SCHEMAS_MAX, row));
    profile->schema_asked.data[profile->schema_asked.len++] = schema->name;
    *id = found;
    return KYMO_OK;
}
