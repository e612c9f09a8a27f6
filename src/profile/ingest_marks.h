/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_marks.h - state of an ingest: what is known of markers, counters and labels between
 * events.
 *
 * Layer:    profile
 * Flow:     ingest_types.c, ingest_untyped.c, ingest_sites.c -> ingest_payload.c (values)
 *           -> ingest_markers.c (rows) -> ingest_labels.c (labels) -> ingest_intervals.c
 *           -> ingest_finish.c
 * Threads:  the ingest's
 * Memory:   vectors, and texts in the ingest's arena; kymo_ingest_marks_deinit frees the vectors
 * Signals:  not for handlers
 */
#ifndef KYMO_PROFILE_INGEST_MARKS_H
#define KYMO_PROFILE_INGEST_MARKS_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "buffer/mark_field.h"
#include "profile/ingest.h"
#include "recording/events.h"

struct kymo_ingest_type {
    uint32_t schema; /* in the profile, as all ids below without another comment */
    uint32_t first_field;
    uint32_t field_count;
};

/* Types with the same name and fields. */
struct kymo_ingest_layout {
    uint32_t name;
    uint32_t schema; /* of the first of them */
    int is_noted;    /* there is a note already that another type looks different */
};

struct kymo_ingest_site {
    uint32_t process;
    uint32_t name;
    uint32_t category;
    uint32_t type;   /* number in the recording; KYMO_NONE: none */
    uint32_t schema; /* KYMO_NONE: its markers have no fields, or none has come yet */
    uint32_t kind;   /* enum kymo_mark_site_kind */
    uint32_t text;   /* string of a format without arguments; KYMO_NONE: not made yet */
    const char *format;
    uint64_t lost, capped, cut;
};

/* One end of an interval. */
struct kymo_ingest_half {
    kymo_marker row;   /* start_ns and end_ns: the time of this end */
    uint64_t id;       /* 0: has no other end */
    uint64_t label_ns; /* the time for which the maker's labels are looked up */
    uint32_t maker;    /* KYMO_NONE: not known */
    uint32_t process;
    uint32_t first_value; /* in half_values */
    uint32_t value_count; /* as many as its schema has fields, or 0 */
    uint32_t is_end;
};

/* A marker with labels of another thread, or another time, than it is shown with. */
struct kymo_ingest_elsewhere {
    uint64_t made_ns;
    uint32_t maker; /* KYMO_NONE: not known */
    uint32_t thread;
    size_t row; /* index into the thread's markers */
};

/* A change of a thread's labels. */
struct kymo_ingest_label_change {
    uint64_t time_ns;
    uint64_t bits;    /* value of a number */
    const char *text; /* in the ingest's arena */
    uint32_t key;
    uint32_t depth;
    uint32_t order;  /* order among changes with the same time */
    uint16_t change; /* enum kymo_label_change */
    uint16_t kind;   /* enum kymo_mark_kind */
};

typedef KYMO_VEC(struct kymo_ingest_label_change) kymo_ingest_label_changes;

/* The thread of a forked child, and the thread that forked it. */
struct kymo_ingest_label_fork {
    uint64_t time_ns; /* from then on it has the labels of the parent at fork_ns */
    uint64_t fork_ns;
    uint32_t thread;
    uint32_t depth; /* number of pushed labels at the fork */
    uint32_t from_process;
    int32_t from_tid;
};

/* What may exceed the limits of a profile. */
enum kymo_ingest_left_out {
    KYMO_INGEST_MARKERS,
    KYMO_INGEST_TEXTS,
    KYMO_INGEST_LABELS,
    KYMO_INGEST_COUNTS,
    KYMO_INGEST_DEFINITIONS,
    KYMO_INGEST_ALLOCATIONS,
    KYMO_INGEST_MAPPINGS,
    KYMO_INGEST_MEMORY,
    KYMO_INGEST_LEFT_OUT_COUNT
};

/* All zero, with text_schema = KYMO_NONE, is a valid empty state. */
struct kymo_ingest_marks {
    KYMO_VEC(uint32_t) categories; /* this and the following: by number in the recording */
    KYMO_VEC(struct kymo_ingest_type) types;
    KYMO_VEC(struct kymo_ingest_site) sites;
    KYMO_VEC(uint32_t) literals; /* strings */
    KYMO_VEC(uint32_t) tracks;   /* strings */
    KYMO_VEC(uint32_t) counters;
    KYMO_VEC(kymo_ingest_label_changes) labels; /* by thread; short if the last threads have none */
    KYMO_VEC(struct kymo_ingest_label_fork) label_forks;

    KYMO_VEC(struct kymo_mark_place) fields; /* of all types */
    KYMO_VEC(struct kymo_ingest_layout) layouts;
    kymo_index layout_index;     /* of `layouts`, by name and fields */
    KYMO_VEC(kymo_value) values; /* scratch: values of one marker */
    KYMO_VEC(kymo_value) cells;  /* scratch: values of one list */
    KYMO_VEC(struct kymo_ingest_half) halves;
    KYMO_VEC(kymo_value) half_values;
    KYMO_VEC(struct kymo_ingest_elsewhere) elsewhere;
    uint64_t left_out[KYMO_INGEST_LEFT_OUT_COUNT];
    uint32_t text_schema; /* schema of a text without a type; KYMO_NONE: not made yet */
};

void kymo_ingest_marks_deinit(struct kymo_ingest_marks *marks);

/* ingest_payload.c: puts the values of a marker into marks.values: one for each field of its
 * schema, or none at all. */
KYMO_NODISCARD
kymo_err kymo_ingest_read_payload(kymo_ingest *in, struct kymo_ingest_site *site,
                                  const kymo_event_marker *e);

#define KYMO_INGEST_KEY_MAX 64 /* bytes of a key that is not the program's own */
/* ingest_types.c: a key that differs from those of all these fields: `asked` (may be NULL), with
 * a number appended if necessary. */
KYMO_NODISCARD
kymo_err kymo_ingest_make_key(kymo_ingest *in, const char *asked, const kymo_schema_field *fields,
                              uint32_t count, uint32_t *key);

/* ingest_untyped.c: the schema of a plain text; of values, which are named by the texts of their
 * expressions, separated by commas. */
KYMO_NODISCARD
kymo_err kymo_ingest_text_schema(kymo_ingest *in, uint32_t *schema);
KYMO_NODISCARD
kymo_err kymo_ingest_values_schema(kymo_ingest *in, const struct kymo_ingest_site *site,
                                   const kymo_value *values, uint32_t count, uint32_t *schema);

/* ingest_intervals.c: joins the ends of intervals. Labels must be joined before. */
KYMO_NODISCARD
kymo_err kymo_ingest_join_halves(kymo_ingest *in);

/* ingest_room.c: counts what the profile has no room for (KYMO_E_TOO_BIG); returns other errors. */
KYMO_NODISCARD
kymo_err kymo_ingest_leave_out(kymo_ingest *in, enum kymo_ingest_left_out what, kymo_err err);
/* Adds a text of the program. If there is no room for it, a text that says so. */
KYMO_NODISCARD
kymo_err kymo_ingest_add_text(kymo_ingest *in, const char *text, size_t len, uint32_t *string);
/* Adds the whole text; NULL is "". */
KYMO_NODISCARD
kymo_err kymo_ingest_add_name(kymo_ingest *in, const char *name, uint32_t *string);
KYMO_NODISCARD
kymo_err kymo_ingest_note_left_out(kymo_ingest *in);

/* ingest_sites.c: notes on markers that were not recorded. */
KYMO_NODISCARD
kymo_err kymo_ingest_note_losses(kymo_ingest *in);

/* ingest_labels.c: sets the labels of all samples, markers and allocations of the profile, and
 * of the halves of intervals. Samples are sorted before. */
KYMO_NODISCARD
kymo_err kymo_ingest_join_labels(kymo_ingest *in);
/* ingest_labels.c: completes the value of a label whose number is in value->as; kind: enum
 * kymo_mark_kind. value->kind stays KYMO_VALUE_NONE for a label that was cleared. */
KYMO_NODISCARD
kymo_err kymo_ingest_label_value(kymo_ingest *in, uint32_t kind, const char *text,
                                 kymo_value *value);

/* ingest.c */
KYMO_NODISCARD
kymo_err kymo_ingest_add_note(kymo_ingest *in, uint64_t time_ns, uint32_t process,
                              uint32_t severity, const char *text);

#endif
