/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_metadata.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/hash.h"
#include "base/vec.h"

struct metadata {
    kymo_jfr_bytes texts; /* as they are in the file */
    KYMO_VEC(size_t) text_at;
    kymo_index text_index;
    kymo_jfr_bytes tree;
    uint8_t is_used[KYMO_JFR_FIRST_OWN]; /* by type, of those that are no events */
    kymo_err err;
};

/* ---- texts ---- */

static int is_text_at(const struct metadata *m, uint32_t number, const kymo_jfr_bytes *text)
{
    size_t at = m->text_at.data[number];
    return m->texts.len - at >= text->len && memcmp(m->texts.data + at, text->data, text->len) == 0;
}

/* The number of a text that is already in the form of the file. */
static uint32_t number_of(struct metadata *m, const kymo_jfr_bytes *text)
{
    uint64_t hash = kymo_hash_bytes(text->data, text->len, kymo_hash_secret());
    uint32_t number;
    for (size_t probe = 0; kymo_index_find(&m->text_index, hash, &probe, &number);)
        if (is_text_at(m, number, text))
            return number;
    number = (uint32_t)m->text_at.len;
    if (kymo_vec_push(&m->text_at, m->texts.len) != KYMO_OK ||
        kymo_index_put(&m->text_index, hash, number) != KYMO_OK)
        m->err = KYMO_E_NOMEM;
    kymo_jfr_raw(&m->texts, text->data, text->len);
    return number;
}

static void put_text(struct metadata *m, const char *text)
{
    kymo_jfr_bytes encoded = {0};
    kymo_jfr_cstr(&encoded, text);
    if (encoded.failed)
        m->err = KYMO_E_NOMEM;
    else
        kymo_jfr_varint(&m->tree, number_of(m, &encoded));
    kymo_jfr_bytes_deinit(&encoded);
}

/* ---- elements: a name, attributes, children ---- */

static void begin_element(struct metadata *m, const char *name, unsigned attributes)
{
    put_text(m, name);
    kymo_jfr_varint(&m->tree, attributes);
}

static void put_attribute(struct metadata *m, const char *key, const char *value)
{
    put_text(m, key);
    put_text(m, value);
}

static void put_number(struct metadata *m, const char *key, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    put_attribute(m, key, text);
}

static void begin_children(struct metadata *m, size_t count)
{
    kymo_jfr_varint(&m->tree, count);
}

/* value NULL: it has none. */
static void put_annotation(struct metadata *m, uint32_t type, const char *value)
{
    begin_element(m, "annotation", 1 + (value != NULL));
    put_number(m, "class", type);
    if (value)
        put_attribute(m, "value", value);
    begin_children(m, 0);
}

static unsigned count_categories(const kymo_jfr_type *type)
{
    unsigned count = 0;
    while (count < KYMO_ARRAY_LEN(type->category) && type->category[count])
        count++;
    return count;
}

static void put_categories(struct metadata *m, const kymo_jfr_type *type)
{
    unsigned count = count_categories(type);
    char key[24];
    begin_element(m, "annotation", 1 + count);
    put_number(m, "class", KYMO_JFR_CATEGORY);
    for (unsigned i = 0; i < count; i++) {
        snprintf(key, sizeof key, "value-%u", i);
        put_attribute(m, key, type->category[i]);
    }
    begin_children(m, 0);
}

static void put_field(struct metadata *m, const kymo_jfr_field *f)
{
    const kymo_jfr_note_kind *note = kymo_jfr_note_of(f->note);
    begin_element(m, "field", 2u + f->is_pool + f->is_array);
    put_attribute(m, "name", f->name);
    put_number(m, "class", f->type);
    if (f->is_pool)
        put_attribute(m, "constantPool", "true");
    if (f->is_array)
        put_attribute(m, "dimension", "1");
    begin_children(m, (f->label != NULL) + (size_t)(note->annotation != 0));
    if (f->label)
        put_annotation(m, KYMO_JFR_LABEL, f->label);
    if (note->annotation)
        put_annotation(m, note->annotation, note->value);
}

static const char *super_type(const kymo_jfr_type *type)
{
    switch (type->kind) {
    case KYMO_JFR_KIND_EVENT:
        return "jdk.jfr.Event";
    case KYMO_JFR_KIND_ANNOTATION:
    case KYMO_JFR_KIND_CONTENT:
        return "java.lang.annotation.Annotation";
    default:
        return NULL;
    }
}

static void put_type(struct metadata *m, const kymo_jfr_type *type)
{
    const char *super = super_type(type);
    int is_simple = type->kind == KYMO_JFR_KIND_SIMPLE;
    int is_content = type->kind == KYMO_JFR_KIND_CONTENT;
    begin_element(m, "class", 2u + (super != NULL) + (unsigned)is_simple);
    put_attribute(m, "name", type->name);
    put_number(m, "id", type->id);
    if (super)
        put_attribute(m, "superType", super);
    if (is_simple)
        put_attribute(m, "simpleType", "true");
    begin_children(m, type->field_count + (size_t)is_content + (type->label != NULL) +
                          (type->description != NULL) + (count_categories(type) > 0));
    if (is_content)
        put_annotation(m, KYMO_JFR_CONTENT_TYPE, NULL);
    if (type->label)
        put_annotation(m, KYMO_JFR_LABEL, type->label);
    if (type->description)
        put_annotation(m, KYMO_JFR_DESCRIPTION, type->description);
    if (count_categories(type))
        put_categories(m, type);
    for (uint32_t i = 0; i < type->field_count; i++)
        put_field(m, &type->fields[i]);
}

/* ---- which types ---- */

static void use_parts(struct metadata *m, const kymo_jfr_type *type);

static void use(struct metadata *m, uint32_t id)
{
    const kymo_jfr_type *type = kymo_jfr_type_of(id);
    if (!type || m->is_used[id])
        return;
    m->is_used[id] = 1;
    use_parts(m, type);
}

/* A type has few parts, and parts of parts are few levels deep. */
static void use_parts(struct metadata *m, const kymo_jfr_type *type)
{
    if (type->kind == KYMO_JFR_KIND_CONTENT)
        use(m, KYMO_JFR_CONTENT_TYPE);
    if (type->label)
        use(m, KYMO_JFR_LABEL);
    if (type->description)
        use(m, KYMO_JFR_DESCRIPTION);
    if (count_categories(type))
        use(m, KYMO_JFR_CATEGORY);
    for (uint32_t i = 0; i < type->field_count; i++) {
        use(m, type->fields[i].type);
        use(m, kymo_jfr_note_of(type->fields[i].note)->annotation);
        if (type->fields[i].label)
            use(m, KYMO_JFR_LABEL);
    }
}

static size_t use_all(struct metadata *m, const kymo_jfr_type *const *events, size_t count)
{
    size_t used = count;
    for (size_t i = 0; i < count; i++)
        use_parts(m, events[i]);
    for (uint32_t id = 0; id < KYMO_JFR_FIRST_OWN; id++)
        used += m->is_used[id];
    return used;
}

/* ---- the whole ---- */

/* Readers want the region, though it says nothing here. */
static void put_tree(struct metadata *m, const kymo_jfr_type *const *events, size_t count)
{
    begin_element(m, "root", 0);
    begin_children(m, 2);
    begin_element(m, "metadata", 0);
    begin_children(m, use_all(m, events, count));
    for (uint32_t id = 0; id < KYMO_JFR_FIRST_OWN; id++)
        if (m->is_used[id])
            put_type(m, kymo_jfr_type_of(id));
    for (size_t i = 0; i < count; i++)
        put_type(m, events[i]);
    begin_element(m, "region", 2);
    put_attribute(m, "locale", "en_US");
    put_attribute(m, "gmtOffset", "0");
    begin_children(m, 0);
}

kymo_err kymo_jfr_metadata_write(kymo_jfr_bytes *out, const kymo_jfr_type *const *events,
                                 size_t count, uint64_t start_ticks, uint32_t number)
{
    struct metadata m = {.err = KYMO_OK};
    put_tree(&m, events, count);
    size_t begin = kymo_jfr_event_begin(out, KYMO_JFR_METADATA);
    kymo_jfr_varint(out, start_ticks);
    kymo_jfr_varint(out, 0); /* duration */
    kymo_jfr_varint(out, number);
    kymo_jfr_varint(out, m.text_at.len);
    kymo_jfr_raw(out, m.texts.data, m.texts.len);
    kymo_jfr_raw(out, m.tree.data, m.tree.len);
    kymo_jfr_event_end(out, begin);
    if (m.texts.failed || m.tree.failed || out->failed)
        m.err = KYMO_E_NOMEM;
    kymo_jfr_bytes_deinit(&m.texts);
    kymo_jfr_bytes_deinit(&m.tree);
    kymo_vec_deinit(&m.text_at);
    kymo_index_deinit(&m.text_index);
    return m.err;
}
