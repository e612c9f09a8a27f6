/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_type_check.c - see mark.h.
 *
 * A template names fields as {marker.data.KEY}, or as a question {marker.data.KEY ? 'a' : 'b'}, and
 * the marker itself as {marker.name}, start, end, duration and category: what the Firefox Profiler
 * reads. It shows an error in place of anything else in braces; ours comes earlier, and says where.
 */
#include "capture/mark.h"

#include <string.h>

#include "buffer/definition.h"
#include "buffer/mark_field.h"

static int fault(struct kymo_mark_fault *out, const char *what, const char *word, size_t len)
{
    *out = (struct kymo_mark_fault){what, word ? word : "", word ? len : 0};
    return 1;
}

static int fault_of(struct kymo_mark_fault *out, const char *what, const char *word)
{
    return fault(out, what, word, word ? strlen(word) : 0);
}

/* The field with this key; NULL: there is none. */
static const struct kymo_mark_field *find(const struct kymo_mark_type *type, const char *key,
                                          size_t len)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct kymo_mark_field *f = kymo_mark_field_at(type, i);
        if (strlen(f->key) == len && memcmp(f->key, key, len) == 0)
            return f;
    }
    return NULL;
}

/* How long the beginning of text is in which no character is of `ends`, up to the NUL. */
static size_t length_up_to(const char *text, const char *ends)
{
    size_t len = 0;
    for (; text[len] != '\0'; len++)
        for (const char *end = ends; *end; end++)
            if (text[len] == *end)
                return len;
    return len;
}

/* Whether text begins with prefix, which is moved over. */
static int skip(const char **text, const char *prefix)
{
    const char *at = *text;
    for (; *prefix; prefix++, at++)
        if (*at != *prefix)
            return 0;
    *text = at;
    return 1;
}

/* What stands in braces, which text is behind the first of. */
static int is_part_faulty(const struct kymo_mark_type *type, const char *text,
                          struct kymo_mark_fault *out)
{
    static const char *const known[] = {"name}", "start}", "end}", "duration}", "category}"};
    size_t len = length_up_to(text, "}");
    if (text[len] == '\0')
        return fault(out, "a label has a brace that nothing closes", text, len);
    const char *at = text;
    if (!skip(&at, "marker."))
        return fault(out, "a label has in braces what is no {marker...}", text, len);
    if (skip(&at, "data.")) {
        size_t key = length_up_to(at, " ?}");
        return find(type, at, key) ? 0 : fault(out, "a label names a field that it lacks", at, key);
    }
    for (size_t i = 0; i < KYMO_ARRAY_LEN(known); i++)
        if (skip(&at, known[i]))
            return 0;
    return fault(out, "a label has in braces what is no {marker...}", text, len);
}

static int is_label_faulty(const struct kymo_mark_type *type, const char *label,
                           struct kymo_mark_fault *out)
{
    if (!label)
        return 0;
    for (const char *at = label; *at; at++)
        if (*at == '{' && is_part_faulty(type, at + 1, out))
            return 1;
    return 0;
}

static int are_fields_faulty(const struct kymo_mark_type *type, struct kymo_mark_fault *out)
{
    struct kymo_mark_layout layout = KYMO_MARK_LAYOUT_BEGIN;
    if (type->field_count > KYMO_DEFINITION_FIELDS_MAX)
        return fault(out, "it has more than 64 fields", NULL, 0);
    if (type->field_count > 0 &&
        (!type->fields || type->field_bytes < sizeof(struct kymo_mark_field)))
        return fault(out, "its fields are not there", NULL, 0);
    for (uint32_t i = 0; i < type->field_count; i++)
        if (!kymo_mark_field_at(type, i)->key)
            return fault(out, "a field has no key", NULL, 0);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct kymo_mark_field *f = kymo_mark_field_at(type, i);
        if (f->key[0] == '\0' || f->key[length_up_to(f->key, " ?{}")] != '\0')
            return fault_of(out, "a key is no word", f->key);
        if (find(type, f->key, strlen(f->key)) != f)
            return fault_of(out, "two fields have the key", f->key);
        if (kymo_mark_kind_bytes(f->kind) == 0)
            return fault_of(out, "there is no such kind as that of the field", f->key);
        if (f->format >= KYMO_FORMAT_COUNT || !(kymo_mark_kind(f->kind)->formats & 1u << f->format))
            return fault_of(out, "its kind cannot be shown in the format of the field", f->key);
        (void)kymo_mark_layout_next(&layout, f->kind);
    }
    if (!kymo_mark_layout_has(&layout, type->payload_bytes))
        return fault(out, "its payload is not as long as its fields are", NULL, 0);
    return 0;
}

static int is_number(uint32_t kind)
{
    return (kymo_mark_kind(kind)->formats & KYMO_SHOWN_BIT(NANOSECONDS)) != 0;
}

static int are_graphs_faulty(const struct kymo_mark_type *type, struct kymo_mark_fault *out)
{
    uint32_t n = 0;
    for (const struct kymo_mark_graph *g = type->graphs; g && g->key; g++) {
        const struct kymo_mark_field *f = find(type, g->key, strlen(g->key));
        if (++n > KYMO_DEFINITION_ROWS_MAX)
            return fault(out, "it has more than 32 graphs", NULL, 0);
        if (!f)
            return fault_of(out, "a graph is of a field that it lacks", g->key);
        if (!is_number(f->kind))
            return fault_of(out, "a graph is of what is no number", g->key);
        if (g->kind > KYMO_GRAPH_LINE_FILLED || g->color >= KYMO_COLOR_COUNT)
            return fault_of(out, "there is no such graph or colour as that of", g->key);
    }
    return 0;
}

int kymo_mark_type_is_faulty(const struct kymo_mark_type *type, struct kymo_mark_fault *out)
{
    uint32_t rows = 0;
    if (!type->name || type->name[0] == '\0')
        return fault(out, "it has no name", NULL, 0);
    if (are_fields_faulty(type, out) || is_label_faulty(type, type->chart, out) ||
        is_label_faulty(type, type->tooltip, out) || is_label_faulty(type, type->table, out) ||
        are_graphs_faulty(type, out))
        return 1;
    if (type->color_key) {
        const struct kymo_mark_field *f = find(type, type->color_key, strlen(type->color_key));
        if (!f || !(kymo_mark_kind(f->kind)->formats & KYMO_SHOWN_BIT(UNIQUE_STRING)))
            return fault_of(out, "its colour is no field of text", type->color_key);
    }
    for (const struct kymo_mark_row *r = type->rows; r && r->label; r++)
        if (++rows > KYMO_DEFINITION_ROWS_MAX)
            return fault(out, "it has more than 32 rows", NULL, 0);
    return 0;
}
