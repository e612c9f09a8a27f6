/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_pprof.c - the profile.proto of google/pprof.
 *
 * Messages may come in any order, and refer to each other by ids and numbers of strings. A first
 * pass counts them, a second one notes where each begins. Locations and functions become rows of
 * the profile when a sample needs them. So what a file says twice, or never uses, costs a few bytes
 * for each.
 */
#include "import/pprof/read_pprof.h"

#include <string.h>

#include "base/str.h"

/* ---- recognition ---- */

/* A ValueType has two numbers, and no other field that is as short. */
static int is_value_type(kymo_reader message)
{
    kymo_wire_field f;
    int fields = 0;
    for (; kymo_wire_next(&message, &f); fields++)
        if (f.type != KYMO_WIRE_VARINT || f.number > KYMO_WIRE_VALUE_UNIT)
            return 0;
    return fields > 0 && !message.failed;
}

static int is_field(const kymo_wire_field *f)
{
    switch (f->number) {
    case KYMO_WIRE_PROFILE_SAMPLE_TYPE:
    case KYMO_WIRE_PROFILE_PERIOD_TYPE:
        return f->type == KYMO_WIRE_BYTES &&
               (is_value_type(f->bytes) || f->bytes.at == f->bytes.end);
    case KYMO_WIRE_PROFILE_SAMPLE:
    case KYMO_WIRE_PROFILE_MAPPING:
    case KYMO_WIRE_PROFILE_LOCATION:
    case KYMO_WIRE_PROFILE_FUNCTION:
    case KYMO_WIRE_PROFILE_STRING:
        return f->type == KYMO_WIRE_BYTES;
    case 13: /* comment */
        return f->type == KYMO_WIRE_BYTES || f->type == KYMO_WIRE_VARINT;
    default:
        return f->type == KYMO_WIRE_VARINT && f->number < KYMO_WIRE_PROFILE_FIELDS;
    }
}

int kymo_pprof_is(const char *head, size_t len)
{
    kymo_reader r = kymo_reader_of(head, len);
    kymo_wire_field f;
    int fields = 0;
    int has_types = 0;
    for (; kymo_wire_next(&r, &f); fields++) {
        if (!is_field(&f))
            return 0;
        has_types |= f.number == KYMO_WIRE_PROFILE_SAMPLE_TYPE;
        /* The table of strings begins with the empty one: no text does. */
        if (fields == 0 && f.number == KYMO_WIRE_PROFILE_STRING && f.bytes.at == f.bytes.end)
            has_types = 1;
    }
    return fields > 1 && has_types;
}

/* ---- fields ---- */

kymo_err kymo_pprof_ended(struct kymo_pprof_reader *r, const kymo_reader *message,
                          struct kymo_pprof_message whole, const char *what)
{
    if (!message->failed)
        return KYMO_OK;
    if ((size_t)whole.at + whole.len == r->d->len)
        return kymo_import_cut(r->d);
    return kymo_import_fault(r->d, whole.at, "a %s is no valid message", what);
}

static struct kymo_pprof_message message_of(const struct kymo_pprof_reader *r,
                                            const kymo_reader *bytes)
{
    return (struct kymo_pprof_message){(uint32_t)kymo_pprof_place(r, bytes->at),
                                       (uint32_t)kymo_reader_left(bytes)};
}

static void take_scalar(struct kymo_pprof_reader *r, const kymo_wire_field *f)
{
    switch (f->number) {
    case KYMO_WIRE_PROFILE_TIME_NANOS:
        r->time_nanos = f->value;
        break;
    case KYMO_WIRE_PROFILE_DURATION_NANOS:
        r->duration_nanos = f->value;
        break;
    case KYMO_WIRE_PROFILE_PERIOD:
        r->period = f->value;
        break;
    case KYMO_WIRE_PROFILE_DEFAULT_SAMPLE_TYPE:
        r->default_sample_type = f->value;
        break;
    default:
        break;
    }
}

static int is_message(uint64_t number)
{
    return (number >= KYMO_WIRE_PROFILE_SAMPLE_TYPE && number <= KYMO_WIRE_PROFILE_STRING) ||
           number == KYMO_WIRE_PROFILE_PERIOD_TYPE;
}

static kymo_err count_fields(struct kymo_pprof_reader *r)
{
    kymo_reader all = kymo_reader_of(r->d->data, r->d->len);
    kymo_wire_field f;
    const unsigned char *at = all.at;
    for (; kymo_wire_next(&all, &f); at = all.at) {
        if (is_message(f.number) && f.type != KYMO_WIRE_BYTES)
            return kymo_import_fault(r->d, kymo_pprof_place(r, at), "field %u is no message",
                                     (unsigned)f.number);
        if (is_message(f.number))
            r->counts[f.number]++;
        else if (f.type == KYMO_WIRE_VARINT)
            take_scalar(r, &f);
    }
    if (!all.failed)
        return KYMO_OK;
    kymo_reader rest = kymo_reader_of(at, (size_t)(all.end - at));
    uint64_t key = kymo_read_uleb(&rest);
    /* What is longer than the rest was cut; what has no valid type was overwritten. */
    if (rest.failed || ((key & 7) != 3 && (key & 7) != 4 && (key & 7) < 6 && key >> 3))
        return kymo_import_cut(r->d);
    return kymo_import_fault(r->d, kymo_pprof_place(r, at), "not a field of a message");
}

static kymo_err make_tables(struct kymo_pprof_reader *r)
{
    struct kymo_pprof_table *const tables[] = {&r->mappings, &r->locations, &r->functions};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(tables); i++)
        KYMO_TRY(kymo_import_table(r->d, r->counts[KYMO_WIRE_PROFILE_MAPPING + i],
                                   sizeof(struct kymo_pprof_row), &tables[i]->rows));
    KYMO_TRY(kymo_import_table(r->d, r->counts[KYMO_WIRE_PROFILE_STRING], sizeof *r->strings,
                               &r->strings));
    return kymo_import_table(r->d, r->counts[KYMO_WIRE_PROFILE_SAMPLE_TYPE],
                             sizeof *r->sample_types, &r->sample_types);
}

static void add_row(struct kymo_pprof_table *table, struct kymo_pprof_message message)
{
    table->rows[table->count++] = (struct kymo_pprof_row){.message = message, .made = KYMO_NONE};
}

static void note_messages(struct kymo_pprof_reader *r)
{
    kymo_reader all = kymo_reader_of(r->d->data, r->d->len);
    kymo_wire_field f;
    while (kymo_wire_next(&all, &f)) {
        struct kymo_pprof_message m =
            f.type == KYMO_WIRE_BYTES ? message_of(r, &f.bytes) : (struct kymo_pprof_message){0};
        if (f.number == KYMO_WIRE_PROFILE_MAPPING)
            add_row(&r->mappings, m);
        else if (f.number == KYMO_WIRE_PROFILE_LOCATION)
            add_row(&r->locations, m);
        else if (f.number == KYMO_WIRE_PROFILE_FUNCTION)
            add_row(&r->functions, m);
        else if (f.number == KYMO_WIRE_PROFILE_STRING)
            r->strings[r->string_count++] = m;
        else if (f.number == KYMO_WIRE_PROFILE_SAMPLE_TYPE)
            r->sample_types[r->type_count++] = m;
        else if (f.number == KYMO_WIRE_PROFILE_PERIOD_TYPE)
            r->period_type = m;
    }
}

kymo_err kymo_pprof_find_text(struct kymo_pprof_reader *r, uint64_t index, uint64_t position,
                              const char **text, size_t *len)
{
    *text = "";
    *len = 0;
    if (index >= r->string_count && index > 0)
        return kymo_import_fault(r->d, position, "there is no string %llu, only %u",
                                 (unsigned long long)index, (unsigned)r->string_count);
    if (index == 0)
        return KYMO_OK;
    *text = r->d->data + r->strings[index].at;
    *len = r->strings[index].len;
    return KYMO_OK;
}

kymo_err kymo_pprof_find_string(struct kymo_pprof_reader *r, uint64_t index, uint64_t position,
                                uint32_t *string)
{
    const char *text;
    size_t len;
    KYMO_TRY(kymo_pprof_find_text(r, index, position, &text, &len));
    return kymo_import_string(r->d, text, len, string);
}

/* ---- the whole ---- */

/* The program is the first mapping's file. */
static kymo_err set_meta(struct kymo_pprof_reader *r)
{
    const kymo_module *main_file = kymo_profile_module(r->d->profile, 0);
    kymo_meta meta = {.size = sizeof meta, .format = r->d->format};
    meta.product = main_file ? main_file->name : NULL;
    meta.origin_realtime_ns = r->time_nanos <= INT64_MAX ? r->time_nanos : 0;
    meta.end_ns = r->duration_nanos <= INT64_MAX ? r->duration_nanos : 0;
    meta.period_ns = r->shown_is_cpu && r->period <= INT64_MAX ? r->period : 0;
    return kymo_profile_set_meta(r->d->profile, &meta);
}

static kymo_err read_all(struct kymo_pprof_reader *r)
{
    KYMO_TRY(count_fields(r));
    KYMO_TRY(make_tables(r));
    note_messages(r);
    KYMO_TRY(kymo_pprof_index_table(r, &r->mappings, "mapping"));
    KYMO_TRY(kymo_pprof_index_table(r, &r->locations, "location"));
    KYMO_TRY(kymo_pprof_index_table(r, &r->functions, "function"));
    KYMO_TRY(kymo_pprof_read_types(r));
    KYMO_TRY(kymo_import_table(r->d, r->type_count, sizeof *r->values, &r->values));
    KYMO_TRY(kymo_pprof_read_mappings(r));
    KYMO_TRY(set_meta(r));
    return kymo_pprof_read_samples(r);
}

kymo_err kymo_pprof_read(kymo_importer *importer)
{
    struct kymo_pprof_reader r = {.d = importer};
    kymo_err err = read_all(&r);
    kymo_key_map_deinit(&r.mappings.map);
    kymo_key_map_deinit(&r.locations.map);
    kymo_key_map_deinit(&r.functions.map);
    kymo_vec_deinit(&r.stack);
    kymo_vec_deinit(&r.labels);
    return err;
}
