/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_schemas.c - the schemas of marker types.
 *
 * Some names of types, some keys of payloads, and labels that name a missing key have a special
 * meaning in the viewer. Names of a program must not have it by accident: such a type is called
 * "NAME (program)", such a key gets underscores, such a label is left out.
 */
#include <string.h>

#include "encode/firefox/firefox.h"

/* ---- names and keys that are special to the viewer ---- */

static int is_one_of(const char *const *list, size_t count, const char *text, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == len && memcmp(list[i], text, len) == 0)
            return 1;
    return 0;
}

static int is_taken_key(const char *key, size_t len)
{
    static const char *const keys[] = {"type", "cause", "stack", "innerWindowID"};
    return is_one_of(keys, KYMO_ARRAY_LEN(keys), key, len);
}

/* Whether the schema has this key with that many underscores. */
static int has_key(const kymo_profile *p, const kymo_schema *schema, const char *key, size_t len,
                   size_t underscores)
{
    for (uint32_t i = 0; schema && i < schema->field_count; i++) {
        const char *text = kymo_profile_string(p, schema->fields[i].key);
        if (strlen(text) == len + underscores && memcmp(text, key, len) == 0 &&
            strspn(text + len, "_") == underscores)
            return 1;
    }
    return 0;
}

/* The number of underscores that make it a key which the schema does not have. */
static size_t free_underscores(const kymo_profile *p, const kymo_schema *schema, const char *key,
                               size_t len, size_t least)
{
    while (has_key(p, schema, key, len, least))
        least++;
    return least;
}

static void put_underscores(kymo_json *json, size_t count)
{
    for (; count > 0; count--)
        kymo_json_string_part(json, "_", 1);
}

/* A key of a field, as a part of a string. */
static void put_key_part(kymo_json *json, const kymo_profile *p, const kymo_schema *schema,
                         const char *key, size_t len)
{
    kymo_json_string_part(json, key, len);
    if (is_taken_key(key, len))
        put_underscores(json, free_underscores(p, schema, key, len, 1));
}

void kymo_firefox_put_key(kymo_json *json, const kymo_profile *profile, const kymo_schema *schema,
                          uint32_t key)
{
    kymo_json_string_begin(json);
    put_key_part(json, profile, schema, kymo_profile_string(profile, key),
                 kymo_profile_string_len(profile, key));
    kymo_json_string_end(json);
}

void kymo_firefox_put_extra_key(kymo_json *json, const kymo_profile *profile,
                                const kymo_schema *schema, const char *base)
{
    kymo_json_string_begin(json);
    kymo_json_string_part(json, base, strlen(base));
    put_underscores(json, free_underscores(profile, schema, base, strlen(base), 0));
    kymo_json_string_end(json);
}

void kymo_firefox_put_type(kymo_json *json, const kymo_profile *profile, uint32_t name)
{
    static const char *const names[] = {
        "Network",
        "CompositorScreenshot",
        "CompositorScreenshotWindowDestroyed",
        "IPC",
        "tracing",
        "Log",
        "FileIO",
        "UserTiming",
        "GCMajor",
        "GCMinor",
        "GCSlice",
        "DOMEvent",
        "Jank",
    };
    const char *text = kymo_profile_string(profile, name);
    size_t len = kymo_profile_string_len(profile, name);
    kymo_json_string_begin(json);
    kymo_json_string_part(json, text, len);
    if (is_one_of(names, KYMO_ARRAY_LEN(names), text, len))
        kymo_json_string_part(json, " (program)", 10);
    kymo_json_string_end(json);
}

/* ---- schemas ---- */

#define DATA "{marker.data."

/* The next key that a label names, up to its end; NULL at the end. */
static const char *next_key(const char *label, size_t *len)
{
    const char *at = strstr(label, DATA);
    if (!at)
        return NULL;
    at += strlen(DATA);
    *len = strcspn(at, "} ?");
    return at;
}

/* Only its label says which marker a tooltip is for. */
#define NAME "{marker.name}"

static void put_label(kymo_firefox *w, const kymo_schema *schema, const char *name, uint32_t label,
                      int needs_name)
{
    kymo_json *j = w->json;
    const char *text = kymo_profile_string(w->p, label);
    size_t len;
    if (*text == '\0')
        return;
    for (const char *key = text; (key = next_key(key, &len)); key += len)
        if (!has_key(w->p, schema, key, len, 0))
            return;
    kymo_json_key(j, name);
    kymo_json_string_begin(j);
    if (needs_name && !strstr(text, NAME))
        kymo_json_string_part(j, NAME ": ", sizeof NAME ": " - 1);
    for (const char *key; (key = next_key(text, &len)); text = key + len) {
        kymo_json_string_part(j, text, (size_t)(key - text));
        put_key_part(j, w->p, schema, key, len);
    }
    kymo_json_string_part(j, text, strlen(text));
    kymo_json_string_end(j);
}

static void put_display(kymo_json *j, uint32_t show)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } places[] = {
        {KYMO_SHOW_CHART, "marker-chart"},         {KYMO_SHOW_TABLE, "marker-table"},
        {KYMO_SHOW_OVERVIEW, "timeline-overview"}, {KYMO_SHOW_MEMORY, "timeline-memory"},
        {KYMO_SHOW_IPC, "timeline-ipc"},           {KYMO_SHOW_FILEIO, "timeline-fileio"},
    };
    /* the viewer's Network track only shows payloads of Firefox */
    show &= ~(uint32_t)KYMO_SHOW_NETWORK;
    if (show == 0)
        show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE;
    kymo_json_key_array(j, "display");
    for (size_t i = 0; i < KYMO_ARRAY_LEN(places); i++)
        if (show & places[i].bit)
            kymo_json_cstr(j, places[i].name);
    kymo_json_end_array(j);
}

/* A column without cells has its own format; if a cell is text, all cells of the column are. */
static void put_columns(kymo_firefox *w, const kymo_firefox_field *field, const char *columns)
{
    kymo_json *j = w->json;
    kymo_firefox_column column;
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "type", "table");
    kymo_json_key_array(j, "columns");
    for (uint32_t i = 0; i < field->column_count; i++) {
        int is_there = kymo_firefox_next_column(&columns, &column);
        uint32_t format = is_there ? column.format : KYMO_FORMAT_STRING;
        if (field->text_columns & 1ull << i && format >= KYMO_FORMAT_DURATION &&
            format != KYMO_FORMAT_PID)
            format = KYMO_FORMAT_STRING;
        kymo_json_begin_object(j);
        if (is_there && column.len) {
            kymo_json_key(j, "label");
            kymo_json_string(j, column.label, column.len);
        }
        kymo_json_key_cstr(j, "type", kymo_firefox_format_name(format));
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
    kymo_json_end_object(j);
}

static void put_field(kymo_firefox *w, const kymo_schema *schema, const kymo_schema_field *f,
                      const kymo_firefox_field *field)
{
    kymo_json *j = w->json;
    uint32_t label = f->label ? f->label : f->key;
    kymo_json_begin_object(j);
    kymo_json_key(j, "key");
    kymo_firefox_put_key(j, w->p, schema, f->key);
    kymo_json_key(j, "label");
    kymo_json_string(j, kymo_profile_string(w->p, label), kymo_profile_string_len(w->p, label));
    kymo_json_key(j, "format");
    if (field->format == KYMO_FORMAT_TABLE)
        put_columns(w, field, kymo_profile_string(w->p, f->columns));
    else
        kymo_json_cstr(j, kymo_firefox_format_name(field->format));
    if (f->flags & KYMO_FIELD_HIDDEN) {
        kymo_json_key_bool(j, "hidden", 1);
    }
    kymo_json_end_object(j);
}

static void put_extra_field(kymo_firefox *w, const kymo_schema *schema, const char *base,
                            const char *label, const char *format)
{
    kymo_json_begin_object(w->json);
    kymo_json_key(w->json, "key");
    kymo_firefox_put_extra_key(w->json, w->p, schema, base);
    kymo_json_key_cstr(w->json, "label", label);
    kymo_json_key_cstr(w->json, "format", format);
    kymo_json_end_object(w->json);
}

static void put_extra_fields(kymo_firefox *w, const kymo_schema *schema, uint32_t flags)
{
    if (flags & KYMO_FIREFOX_HAS_PART)
        put_extra_field(w, schema, "subcategory", "Subcategory", "string");
    if (flags & KYMO_FIREFOX_HAS_OWNER)
        put_extra_field(w, schema, "owner", "Owner",
                        flags & KYMO_FIREFOX_OWNER_IS_TEXT ? "string" : "integer");
    if (flags & KYMO_FIREFOX_HAS_LABELS)
        put_extra_field(w, schema, "labels", "Labels", "string");
}

static void put_string(kymo_json *j, const kymo_profile *p, uint32_t string)
{
    kymo_json_string_part(j, kymo_profile_string(p, string), kymo_profile_string_len(p, string));
}

/* The format has no rows that are the same for all markers: they are appended to the
 * description. */
static void put_description(kymo_firefox *w, const kymo_schema *schema)
{
    kymo_json *j = w->json;
    if (!schema->description && !schema->row_count)
        return;
    kymo_json_key(j, "description");
    kymo_json_string_begin(j);
    put_string(j, w->p, schema->description);
    for (uint32_t i = 0; i < schema->row_count; i++) {
        if (i > 0 || schema->description)
            kymo_json_string_part(j, "\n", 1);
        put_string(j, w->p, schema->rows[i].label);
        kymo_json_string_part(j, ": ", 2);
        put_string(j, w->p, schema->rows[i].value);
    }
    kymo_json_string_end(j);
}

int kymo_firefox_is_number(const kymo_schema *schema, const kymo_firefox_field *fields,
                           uint32_t key)
{
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].key == key)
            return fields[i].format >= KYMO_FORMAT_DURATION &&
                   fields[i].format <= KYMO_FORMAT_HEXADECIMAL;
    return 0;
}

static void put_graphs(kymo_firefox *w, const kymo_schema *schema, const kymo_firefox_field *fields)
{
    static const char *const kinds[] = {
        [KYMO_GRAPH_LINE] = "line",
        [KYMO_GRAPH_BAR] = "bar",
        [KYMO_GRAPH_LINE_FILLED] = "line-filled",
    };
    kymo_json *j = w->json;
    int begun = 0;
    for (uint32_t i = 0; i < schema->graph_count; i++) {
        const kymo_schema_graph *g = &schema->graphs[i];
        if (!kymo_firefox_is_number(schema, fields, g->key))
            continue;
        if (!begun) {
            kymo_json_key_array(j, "graphs");
            begun = 1;
        }
        kymo_json_begin_object(j);
        kymo_json_key(j, "key");
        kymo_firefox_put_key(j, w->p, schema, g->key);
        kymo_json_key_cstr(j, "type", kinds[g->kind < KYMO_ARRAY_LEN(kinds) ? g->kind : 0]);
        kymo_json_key_cstr(j, "color", kymo_firefox_graph_color(g->color));
        kymo_json_end_object(j);
    }
    if (begun)
        kymo_json_end_array(j);
}

static void put_schema(kymo_firefox *w, uint32_t id)
{
    kymo_json *j = w->json;
    const kymo_schema *schema = kymo_profile_schema(w->p, id);
    const kymo_firefox_field *fields = kymo_firefox_fields_of(&w->marks, id);
    const char *color_key = kymo_profile_string(w->p, schema->color_key);
    kymo_json_begin_object(j);
    kymo_json_key(j, "name");
    kymo_firefox_put_type(j, w->p, schema->name);
    put_display(j, schema->show);
    put_label(w, schema, "chartLabel", schema->chart, 0);
    put_label(w, schema, "tooltipLabel", schema->tooltip, 1);
    put_label(w, schema, "tableLabel", schema->table, 0);
    put_description(w, schema);
    kymo_json_key_array(j, "fields");
    for (uint32_t i = 0; i < schema->field_count; i++)
        put_field(w, schema, &schema->fields[i], &fields[i]);
    put_extra_fields(w, schema, w->marks.schemas[id].flags);
    kymo_json_end_array(j);
    put_graphs(w, schema, fields);
    if (*color_key && has_key(w->p, schema, color_key, strlen(color_key), 0)) {
        kymo_json_key(j, "colorField");
        kymo_firefox_put_key(j, w->p, schema, schema->color_key);
    }
    if (schema->is_stack_based) {
        kymo_json_key_bool(j, "isStackBased", 1);
    }
    kymo_json_end_object(j);
}

/* Markers without a schema have only what every marker may have. */
static void put_plain_schema(kymo_firefox *w)
{
    kymo_json *j = w->json;
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "name", w->marks.plain_name);
    put_display(j, 0);
    kymo_json_key_array(j, "fields");
    put_extra_fields(w, NULL, w->marks.schemas[w->marks.schema_count].flags);
    kymo_json_end_array(j);
    kymo_json_end_object(j);
}

static void put_label_schema(kymo_firefox *w)
{
    kymo_json *j = w->json;
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "name", w->marks.label_name);
    put_display(j, 0);
    kymo_json_key_cstr(j, "chartLabel", "{marker.data.value}");
    kymo_json_key_cstr(j, "tooltipLabel", "{marker.name} = {marker.data.value}");
    kymo_json_key_cstr(j, "tableLabel", "{marker.data.value}");
    kymo_json_key_cstr(j, "description",
                       "A label of the thread, from the first sample that has it to the last.");
    kymo_json_key_array(j, "fields");
    put_extra_field(w, NULL, "value", "Value", "string");
    put_extra_field(w, NULL, "samples", "Samples", "integer");
    kymo_json_end_array(j);
    kymo_json_end_object(j);
}

void kymo_firefox_put_schemas(kymo_firefox *w)
{
    kymo_json_key_array(w->json, "markerSchema");
    for (uint32_t i = 0; i < w->marks.schema_count; i++)
        put_schema(w, i);
    if (w->marks.schemas[w->marks.schema_count].flags & KYMO_FIREFOX_IS_USED)
        put_plain_schema(w);
    if (w->marks.has_sample_labels)
        put_label_schema(w);
    kymo_json_end_array(w->json);
}
