/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_marks.h - markers, counters and labels in the Firefox format.
 *
 * Layer:    encode; above profile
 * Flow:     firefox_fields.c, firefox_tracks.c -> [firefox_marks] -> firefox_categories.c,
 *           firefox_schemas.c, firefox_markers.c, firefox_counters.c
 * Threads:  one owner at a time
 * Memory:   owned by kymo_firefox; a few words per field, flow and marker on a track, and while a
 *           thread is written, five words for each of its markers
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_FIREFOX_FIREFOX_MARKS_H
#define KYMO_ENCODE_FIREFOX_FIREFOX_MARKS_H

#include "base/json.h"
#include "kymo/marker_abi.h"
#include "profile/tables.h"

struct kymo_firefox;

/* Largest exact integer of JavaScript. */
#define KYMO_FIREFOX_EXACT_MAX (1ull << 53)

/* Limit of the columns of a table; further ones are not written. */
#define KYMO_FIREFOX_COLUMNS_MAX 64u

/* How all values of a field are written. */
typedef struct kymo_firefox_field {
    uint32_t format;       /* enum kymo_mark_format; STRING if some value does not fit its own
                            * format */
    uint32_t column_count; /* of a table */
    uint64_t text_columns; /* bits: columns that are written as text for that reason */
} kymo_firefox_field;

/* Members that markers of a schema have beside its fields. */
enum {
    KYMO_FIREFOX_IS_USED = 1,
    KYMO_FIREFOX_HAS_PART = 2, /* a category that is part of another */
    KYMO_FIREFOX_HAS_OWNER = 4,
    KYMO_FIREFOX_OWNER_IS_TEXT = 8,
    KYMO_FIREFOX_HAS_LABELS = 16,
};

typedef struct kymo_firefox_schema {
    uint32_t first_field; /* in kymo_firefox_marks.fields */
    uint32_t flags;
} kymo_firefox_schema;

/* A marker that is shown on a track of its process. */
typedef struct kymo_firefox_tracked {
    uint32_t process;
    uint32_t track; /* string */
    uint32_t thread;
    uint32_t marker; /* index among those of the thread */
} kymo_firefox_tracked;

typedef struct kymo_firefox_track {
    size_t first; /* in tracked */
    size_t count;
} kymo_firefox_track;

#define KYMO_FIREFOX_NAME_MAX 32

typedef struct kymo_firefox_marks {
    kymo_firefox_schema *schemas; /* by schema of the profile; the last: markers without one */
    uint32_t schema_count;        /* of the profile */
    KYMO_VEC(kymo_firefox_field) fields;
    KYMO_VEC(uint64_t) flows; /* distinct ids, in the order of their strings */
    kymo_index flow_index;
    uint32_t first_flow;   /* string in the file */
    uint32_t *category_of; /* by category of markers: index in the file's list */
    KYMO_VEC(kymo_firefox_tracked) tracked;
    KYMO_VEC(kymo_firefox_track) tracks;
    int has_sample_labels;
    /* Names of schemas that Kymo adds to those of the profile. */
    char plain_name[KYMO_FIREFOX_NAME_MAX];
    char label_name[KYMO_FIREFOX_NAME_MAX];
} kymo_firefox_marks;

/* How the fields of a schema are written; NULL if it has no fields. */
static inline const kymo_firefox_field *kymo_firefox_fields_of(const kymo_firefox_marks *marks,
                                                               uint32_t schema)
{
    return marks->fields.len ? &marks->fields.data[marks->schemas[schema].first_field] : NULL;
}

/* A number in the format's unit. */
typedef struct kymo_firefox_numeric {
    uint64_t value; /* times 10^-digits */
    double f64;     /* with is_float, instead */
    uint32_t digits;
    uint8_t is_negative;
    uint8_t is_float;
} kymo_firefox_numeric;

/* One column of a table. */
typedef struct kymo_firefox_column {
    const char *label;
    size_t len;
    uint32_t format;
} kymo_firefox_column;

/* firefox_values.c */
/* The value as a number in the unit of the format. 0 if it is not a number, cannot be exact in
 * JavaScript, or has a format for text. */
int kymo_firefox_number_of(const kymo_profile *profile, const kymo_value *value, uint32_t format,
                           kymo_firefox_numeric *out);
void kymo_firefox_put_number(kymo_json *json, const kymo_firefox_numeric *number);
/* The file's name of a format; that of NONE is "string". */
const char *kymo_firefox_format_name(uint32_t format);
/* "Name:string|Size:bytes": takes one column from the front of *columns; 0 at the end. */
int kymo_firefox_next_column(const char **columns, kymo_firefox_column *out);
/* A cell of a list; a value that is not a list is its own cell. */
uint32_t kymo_firefox_cells(const kymo_profile *profile, const kymo_value *value,
                            const kymo_value **cells);
/* "key=value key=value"; text that would be ambiguous is quoted, with backslashes. */
void kymo_firefox_put_labels(kymo_json *json, const kymo_profile *profile, uint32_t labels);

/* firefox_fields.c: fills in all above except categories and tracks; the string of a flow. */
KYMO_NODISCARD
kymo_err kymo_firefox_look_at_markers(struct kymo_firefox *w);
void kymo_firefox_marks_deinit(kymo_firefox_marks *marks);
uint32_t kymo_firefox_flow_string(const kymo_firefox_marks *marks, uint64_t flow);
/* The last strings of the file. */
void kymo_firefox_put_flows(struct kymo_firefox *w);

/* firefox_categories.c: the value of "categories", which are numbered before. */
KYMO_NODISCARD
kymo_err kymo_firefox_number_categories(struct kymo_firefox *w);
void kymo_firefox_put_categories(struct kymo_firefox *w);
/* The name of a colour for graphs and counters. */
const char *kymo_firefox_graph_color(uint32_t color);

/* firefox_schemas.c: the value of "markerSchema". */
void kymo_firefox_put_schemas(struct kymo_firefox *w);
/* The key of a field in the payload: never a key that is special to the viewer. */
void kymo_firefox_put_key(kymo_json *json, const kymo_profile *profile, const kymo_schema *schema,
                          uint32_t key);
/* A key that the schema (NULL: none) does not have: base, or base with underscores. */
void kymo_firefox_put_extra_key(kymo_json *json, const kymo_profile *profile,
                                const kymo_schema *schema, const char *base);
/* Whether a field is written as numbers, which a graph needs. */
int kymo_firefox_is_number(const kymo_schema *schema, const kymo_firefox_field *fields,
                           uint32_t key);
/* A name without special rules in the viewer; a name that no schema has. */
void kymo_firefox_put_type(kymo_json *json, const kymo_profile *profile, uint32_t name);

/* firefox_tracks.c */
KYMO_NODISCARD
kymo_err kymo_firefox_number_tracks(struct kymo_firefox *w);

/* firefox_markers.c: the key "markers" of a thread or track; the number of markers. */
KYMO_NODISCARD
kymo_err kymo_firefox_count_thread_markers(const struct kymo_firefox *w, uint32_t thread,
                                           size_t *count);
KYMO_NODISCARD
kymo_err kymo_firefox_put_thread_markers(struct kymo_firefox *w, uint32_t thread);
KYMO_NODISCARD
kymo_err kymo_firefox_put_track_markers(struct kymo_firefox *w, const kymo_firefox_track *track);

/* firefox_counters.c: the key "counters", if there are any. */
KYMO_NODISCARD
kymo_err kymo_firefox_put_counters(struct kymo_firefox *w);

#endif
