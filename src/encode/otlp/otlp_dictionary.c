/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "encode/otlp/otlp.h"

static uint32_t text(struct kymo_otlp_dictionary *d, const char *s)
{
    return kymo_text_number_of(&d->strings, s, strlen(s));
}

/* ---- attributes ---- */

static uint32_t find_attribute(const struct kymo_otlp_dictionary *d, uint64_t hash,
                               const kymo_proto *m)
{
    uint32_t i;
    for (size_t probe = 0; kymo_index_find(&d->attribute_index, hash, &probe, &i);) {
        const struct kymo_otlp_attribute *a = &d->attributes.data[i];
        if (a->len == m->len && memcmp(d->out.data + a->at, m->data, m->len) == 0)
            return i + 1;
    }
    return 0;
}

/* The row of an attribute with d->value, written at its first use. */
uint32_t kymo_otlp_attribute(struct kymo_otlp_dictionary *d, const char *key, const char *unit)
{
    const uint32_t key_number = text(d, key);
    const uint32_t unit_number = unit ? text(d, unit) : 0;
    kymo_proto *m = &d->inner;
    kymo_proto_clear(m);
    kymo_proto_u64(m, KYMO_OTLP_ATTRIBUTE_KEY, key_number);
    kymo_proto_message(m, KYMO_OTLP_ATTRIBUTE_VALUE, &d->value);
    kymo_proto_u64(m, KYMO_OTLP_ATTRIBUTE_UNIT, unit_number);
    d->out.failed |= m->failed;
    /* After a failure the rows and what is known of them do not fit. */
    if (d->out.failed)
        return 0;
    const uint64_t hash = kymo_hash_bytes(m->data, m->len, kymo_hash_secret());
    const uint32_t row = find_attribute(d, hash, m);
    if (row)
        return row;
    kymo_proto_message(&d->out, KYMO_OTLP_DICTIONARY_ATTRIBUTE, m);
    const struct kymo_otlp_attribute made = {d->out.len - m->len, m->len};
    if (kymo_vec_push(&d->attributes, made) != KYMO_OK ||
        kymo_index_put(&d->attribute_index, hash, d->attribute_count - 1) != KYMO_OK)
        d->out.failed = 1;
    return d->attribute_count++;
}

uint32_t kymo_otlp_text_attribute(struct kymo_otlp_dictionary *d, const char *key,
                                  const char *value, size_t len)
{
    kymo_proto_clear(&d->value);
    kymo_proto_bytes(&d->value, KYMO_OTLP_ANY_STRING, value, len);
    return kymo_otlp_attribute(d, key, NULL);
}

uint32_t kymo_otlp_number_attribute(struct kymo_otlp_dictionary *d, const char *key, int64_t number,
                                    const char *unit)
{
    kymo_proto_clear(&d->value);
    kymo_proto_member(&d->value, KYMO_OTLP_ANY_INT, (uint64_t)number);
    return kymo_otlp_attribute(d, key, unit);
}

/* Into a message of its owner: a list of one. */
static void put_attribute(kymo_proto *message, unsigned field, uint32_t row)
{
    unsigned char bytes[KYMO_VARINT_MAX];
    kymo_proto list = {.data = bytes, .cap = sizeof bytes};
    if (row == 0)
        return;
    kymo_proto_varint(&list, row);
    kymo_proto_packed(message, field, &list);
}

/* ---- mappings, functions, locations ---- */

static uint32_t mapping(struct kymo_otlp_dictionary *d, uint32_t number)
{
    char build_id[2 * KYMO_BUILD_ID_MAX];
    if (number == 0 || d->mapping_of[number])
        return number ? d->mapping_of[number] : 0;
    const uint32_t module = d->mappings.module[number];
    const kymo_module *m = &d->p->modules.data[module];
    const uint32_t path = kymo_text_number(&d->strings, d->p->module_ids.data[module].path);
    const size_t len = kymo_build_id_hex(m, build_id);
    const uint32_t id =
        len ? kymo_otlp_text_attribute(d, "process.executable.build_id.gnu", build_id, len) : 0;
    kymo_proto_clear(&d->message);
    kymo_proto_u64(&d->message, KYMO_OTLP_MAPPING_START, m->start);
    kymo_proto_u64(&d->message, KYMO_OTLP_MAPPING_LIMIT, m->end);
    kymo_proto_u64(&d->message, KYMO_OTLP_MAPPING_OFFSET, m->file_offset);
    kymo_proto_u64(&d->message, KYMO_OTLP_MAPPING_FILENAME, path);
    put_attribute(&d->message, KYMO_OTLP_MAPPING_ATTRIBUTES, id);
    kymo_proto_message(&d->out, KYMO_OTLP_DICTIONARY_MAPPING, &d->message);
    return d->mapping_of[number] = d->mapping_count++;
}

static uint32_t new_function(struct kymo_otlp_dictionary *d, uint32_t name, uint32_t system_name,
                             uint32_t filename, uint32_t start_line)
{
    kymo_proto_clear(&d->message);
    kymo_proto_u64(&d->message, KYMO_OTLP_FUNCTION_NAME, name);
    kymo_proto_u64(&d->message, KYMO_OTLP_FUNCTION_SYSTEM_NAME, system_name);
    kymo_proto_u64(&d->message, KYMO_OTLP_FUNCTION_FILENAME, filename);
    kymo_proto_u64(&d->message, KYMO_OTLP_FUNCTION_START_LINE, start_line);
    kymo_proto_message(&d->out, KYMO_OTLP_DICTIONARY_FUNCTION, &d->message);
    return d->function_count++;
}

static uint32_t function(struct kymo_otlp_dictionary *d, uint32_t id)
{
    const kymo_function *f = &d->p->functions.data[id];
    if (d->function_of[id])
        return d->function_of[id];
    const uint32_t name = kymo_text_number(&d->strings, f->name);
    const uint32_t system_name =
        f->system_name ? kymo_text_number(&d->strings, f->system_name) : name;
    const uint32_t filename =
        f->source != KYMO_NONE ? kymo_text_number(&d->strings, d->p->sources.data[f->source]) : 0;
    return d->function_of[id] = new_function(d, name, system_name, filename, f->start_line);
}

/* A function that the profile does not have. */
static uint32_t made_up(struct kymo_otlp_dictionary *d, const char *name)
{
    const uint32_t string = text(d, name);
    return new_function(d, string, string, 0, 0);
}

static uint32_t frame_type(struct kymo_otlp_dictionary *d, uint8_t category)
{
    static const char *const types[KYMO_CATEGORY_COUNT] = {
        [KYMO_CATEGORY_PROGRAM] = "native", [KYMO_CATEGORY_LIBRARY] = "native",
        [KYMO_CATEGORY_LIBC] = "native",    [KYMO_CATEGORY_KERNEL] = "kernel",
        [KYMO_CATEGORY_PYTHON] = "cpython",
    };
    const char *type = types[category];
    return type ? kymo_otlp_text_attribute(d, "profile.frame.type", type, strlen(type)) : 0;
}

static void put_line(struct kymo_otlp_dictionary *d, uint32_t row, uint32_t line, uint32_t column)
{
    kymo_proto_clear(&d->inner);
    kymo_proto_u64(&d->inner, KYMO_OTLP_LINE_FUNCTION, row);
    kymo_proto_u64(&d->inner, KYMO_OTLP_LINE_LINE, line);
    kymo_proto_u64(&d->inner, KYMO_OTLP_LINE_COLUMN, column);
    kymo_proto_message(&d->message, KYMO_OTLP_LOCATION_LINE, &d->inner);
}

/* A frame in a file without a name has no line: a server with the file of that build-id can
 * symbolize it. An address outside all files is a function of that name. */
static uint32_t unnamed(struct kymo_otlp_dictionary *d, uint32_t frame, uint32_t in_mapping)
{
    char name[KYMO_STRING_MAX + 32];
    if (in_mapping || d->p->frames.data[frame].line_count)
        return 0;
    kymo_profile_frame_label(d->p, frame, name, sizeof name);
    return made_up(d, name);
}

static uint32_t location(struct kymo_otlp_dictionary *d, uint32_t frame)
{
    const kymo_frame *f = &d->p->frames.data[frame];
    uint64_t address;
    if (d->location_of[frame])
        return d->location_of[frame];
    /* What it refers to has rows first: a row is built in the same memory. */
    const uint32_t in_mapping = mapping(d, kymo_mapping_number(&d->mappings, f, &address));
    const uint32_t name = unnamed(d, frame, in_mapping);
    const uint32_t type = frame_type(d, f->category);
    const kymo_line *lines = d->p->lines.data + f->first_line;
    for (uint32_t i = 0; i < f->line_count; i++)
        function(d, lines[i].function);
    kymo_proto_clear(&d->message);
    kymo_proto_u64(&d->message, KYMO_OTLP_LOCATION_MAPPING, in_mapping);
    kymo_proto_u64(&d->message, KYMO_OTLP_LOCATION_ADDRESS, address);
    for (uint32_t i = 0; i < f->line_count; i++)
        put_line(d, function(d, lines[i].function), lines[i].line, lines[i].column);
    if (name)
        put_line(d, name, 0, 0);
    put_attribute(&d->message, KYMO_OTLP_LOCATION_ATTRIBUTES, type);
    kymo_proto_message(&d->out, KYMO_OTLP_DICTIONARY_LOCATION, &d->message);
    return d->location_of[frame] = d->location_count++;
}

/* ---- stacks ---- */

static uint32_t put_stack(struct kymo_otlp_dictionary *d)
{
    kymo_proto_clear(&d->message);
    kymo_proto_packed(&d->message, KYMO_OTLP_STACK_LOCATIONS, &d->list);
    kymo_proto_message(&d->out, KYMO_OTLP_DICTIONARY_STACK, &d->message);
    return d->stack_count++;
}

static uint32_t no_stack(struct kymo_otlp_dictionary *d)
{
    if (d->no_stack)
        return d->no_stack;
    const uint32_t name = made_up(d, KYMO_NO_STACK_NAME);
    kymo_proto_clear(&d->message);
    put_line(d, name, 0, 0);
    kymo_proto_message(&d->out, KYMO_OTLP_DICTIONARY_LOCATION, &d->message);
    kymo_proto_clear(&d->list);
    kymo_proto_varint(&d->list, d->location_count++);
    return d->no_stack = put_stack(d);
}

uint32_t kymo_otlp_stack(struct kymo_otlp_dictionary *d, uint32_t stack)
{
    if (stack == KYMO_NONE)
        return no_stack(d);
    if (d->stack_of[stack])
        return d->stack_of[stack];
    kymo_proto_clear(&d->list);
    for (uint32_t s = stack; s != KYMO_NONE; s = d->p->stack_parent.data[s])
        kymo_proto_varint(&d->list, location(d, d->p->stack_frame.data[s]));
    return d->stack_of[stack] = put_stack(d);
}

/* ---- the whole ---- */

/* Readers that want identifiers of full length get them also in the empty link. */
static void put_empty_link(struct kymo_otlp_dictionary *d)
{
    static const char zeros[16];
    kymo_proto_clear(&d->message);
    kymo_proto_bytes(&d->message, KYMO_OTLP_LINK_TRACE_ID, zeros, 16);
    kymo_proto_bytes(&d->message, KYMO_OTLP_LINK_SPAN_ID, zeros, 8);
    kymo_proto_message(&d->out, KYMO_OTLP_DICTIONARY_LINK, &d->message);
}

kymo_err kymo_otlp_dictionary_init(struct kymo_otlp_dictionary *d, const kymo_profile *p)
{
    static const unsigned empty[] = {KYMO_OTLP_DICTIONARY_MAPPING, KYMO_OTLP_DICTIONARY_LOCATION,
                                     KYMO_OTLP_DICTIONARY_FUNCTION, KYMO_OTLP_DICTIONARY_ATTRIBUTE,
                                     KYMO_OTLP_DICTIONARY_STACK};
    d->p = p;
    KYMO_TRY(kymo_text_numbers_init(&d->strings, p, &d->out, KYMO_OTLP_DICTIONARY_STRING, 0));
    KYMO_TRY(kymo_mapping_numbers_init(&d->mappings, p));
    d->mapping_of = calloc(d->mappings.count + 1, sizeof(uint32_t));
    d->function_of = calloc(p->functions.len + 1, sizeof(uint32_t));
    d->location_of = calloc(p->frames.len + 1, sizeof(uint32_t));
    d->stack_of = calloc(p->stack_frame.len + 1, sizeof(uint32_t));
    if (!d->mapping_of || !d->function_of || !d->location_of || !d->stack_of)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(empty); i++)
        kymo_proto_bytes(&d->out, empty[i], "", 0);
    put_empty_link(d);
    d->mapping_count = d->function_count = d->location_count = d->stack_count = 1;
    d->attribute_count = 1;
    return KYMO_OK;
}

void kymo_otlp_dictionary_deinit(struct kymo_otlp_dictionary *d)
{
    kymo_text_numbers_deinit(&d->strings);
    kymo_mapping_numbers_deinit(&d->mappings);
    free(d->mapping_of);
    free(d->function_of);
    free(d->location_of);
    free(d->stack_of);
    kymo_vec_deinit(&d->attributes);
    kymo_index_deinit(&d->attribute_index);
    kymo_proto_deinit(&d->out);
    kymo_proto_deinit(&d->message);
    kymo_proto_deinit(&d->inner);
    kymo_proto_deinit(&d->value);
    kymo_proto_deinit(&d->list);
}
