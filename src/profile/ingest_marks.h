/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_marks.h - what an ingest knows of markers, counters and labels between two events.
 *
 * Layer:    profile
 * Flow:     ingest_types.c, ingest_untyped.c, ingest_sites.c -> ingest_payload.c (values)
 *           -> ingest_markers.c (rows) -> ingest_labels.c (who carried what) -> ingest_intervals.c
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
    uint32_t schema; /* in the profile, as all ids below that have no other comment */
    uint32_t first_field;
    uint32_t field_count;
};

/* Types of one name and the same fields. */
struct kymo_ingest_layout {
    uint32_t name;
    uint32_t schema; /* of the first of them */
    int is_noted;    /* that another one would be shown otherwise */
};

struct kymo_ingest_site {
    uint32_t process;
    uint32_t name;
    uint32_t category;
    uint32_t type;   /* of the recording; KYMO_NONE: none */
    uint32_t schema; /* KYMO_NONE: its markers have no fields, or none of them came yet */
    uint32_t kind;   /* enum kymo_mark_site_kind */
    uint32_t text;   /* of a format without arguments, a string; KYMO_NONE: not made yet */
    const char *format;
    uint64_t lost, capped, cut;
};

/* One end of an interval. */
struct kymo_ingest_half {
    kymo_marker row;   /* start_ns and end_ns: when it is */
    uint64_t id;       /* 0: the other end is not looked for */
    uint64_t label_ns; /* when to look at the labels of its maker */
    uint32_t maker;    /* KYMO_NONE: not known */
    uint32_t process;
    uint32_t first_value; /* in half_values */
    uint32_t value_count; /* as many as its schema has fields, or 0 */
    uint32_t is_end;
};

/* A marker that has the labels of another thread, or of another time, than it is shown with. */
struct kymo_ingest_elsewhere {
    uint64_t made_ns;
    uint32_t maker; /* KYMO_NONE: not known */
    uint32_t thread;
    size_t row; /* of those of the thread */
};

/* A thread's labels have changed. */
struct kymo_ingest_label_change {
    uint64_t time_ns;
    uint64_t bits;    /* of a number */
    const char *text; /* in the ingest's arena */
    uint32_t key;
    uint32_t depth;
    uint32_t order;  /* of those of one time */
    uint16_t change; /* enum kymo_label_change */
    uint16_t kind;   /* enum kymo_mark_kind */
};

typedef KYMO_VEC(struct kymo_ingest_label_change) kymo_ingest_label_changes;

/* A thread of a forked child, and which one it was forked by. */
struct kymo_ingest_label_fork {
    uint64_t time_ns; /* from when on it has what that one had at fork_ns */
    uint64_t fork_ns;
    uint32_t thread;
    uint32_t depth; /* of what was pushed, so many */
    uint32_t from_process;
    int32_t from_tid;
};

/* What a profile may have no room for. */
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

/* Zeros, and no text_schema, are an empty one. */
struct kymo_ingest_marks {
    KYMO_VEC(uint32_t) categories; /* this and what follows: by number in the recording */
    KYMO_VEC(struct kymo_ingest_type) types;
    KYMO_VEC(struct kymo_ingest_site) sites;
    KYMO_VEC(uint32_t) literals; /* strings */
    KYMO_VEC(uint32_t) tracks;   /* strings */
    KYMO_VEC(uint32_t) counters;
    KYMO_VEC(kymo_ingest_label_changes) labels; /* by thread; short where the last have none */
    KYMO_VEC(struct kymo_ingest_label_fork) label_forks;

    KYMO_VEC(struct kymo_mark_place) fields; /* of all types */
    KYMO_VEC(struct kymo_ingest_layout) layouts;
    kymo_index layout_index;     /* of `layouts`, by name and fields */
    KYMO_VEC(kymo_value) values; /* scratch: of a marker */
    KYMO_VEC(kymo_value) cells;  /* scratch: of a value */
    KYMO_VEC(struct kymo_ingest_half) halves;
    KYMO_VEC(kymo_value) half_values;
    KYMO_VEC(struct kymo_ingest_elsewhere) elsewhere;
    uint64_t left_out[KYMO_INGEST_LEFT_OUT_COUNT];
    uint32_t text_schema; /* of a text without a type; KYMO_NONE: not made yet */
};

void kymo_ingest_marks_deinit(struct kymo_ingest_marks *marks);

/* ingest_payload.c: the values of a marker into marks.values: as many as its schema has fields, or
 * none. */
KYMO_NODISCARD
kymo_err kymo_ingest_read_payload(kymo_ingest *in, struct kymo_ingest_site *site,
                                  const kymo_event_marker *e);

#define KYMO_INGEST_KEY_MAX 64 /* bytes of a key that is not the program's own */
/* ingest_types.c: a key that none of these fields has: the one asked for (may be NULL), or with a
 * number behind it. */
KYMO_NODISCARD
kymo_err kymo_ingest_make_key(kymo_ingest *in, const char *asked, const kymo_schema_field *fields,
                              uint32_t count, uint32_t *key);

/* ingest_untyped.c: the schema of a text; of values, which are named by the texts of their
 * expressions with commas between. */
KYMO_NODISCARD
kymo_err kymo_ingest_text_schema(kymo_ingest *in, uint32_t *schema);
KYMO_NODISCARD
kymo_err kymo_ingest_values_schema(kymo_ingest *in, const struct kymo_ingest_site *site,
                                   const kymo_value *values, uint32_t count, uint32_t *schema);

/* ingest_intervals.c: ends of intervals find each other. Labels come first. */
KYMO_NODISCARD
kymo_err kymo_ingest_join_halves(kymo_ingest *in);

/* ingest_room.c: counts what there was no room for; every other error stays one. */
KYMO_NODISCARD
kymo_err kymo_ingest_leave_out(kymo_ingest *in, enum kymo_ingest_left_out what, kymo_err err);
/* A text that the program made. Where there is no room for it, one that says so. */
KYMO_NODISCARD
kymo_err kymo_ingest_add_text(kymo_ingest *in, const char *text, size_t len, uint32_t *string);
/* All of it; NULL is "". */
KYMO_NODISCARD
kymo_err kymo_ingest_add_name(kymo_ingest *in, const char *name, uint32_t *string);
KYMO_NODISCARD
kymo_err kymo_ingest_note_left_out(kymo_ingest *in);

/* ingest_sites.c: what became of markers that are not there. */
KYMO_NODISCARD
kymo_err kymo_ingest_note_losses(kymo_ingest *in);

/* ingest_labels.c: the labels of all samples, markers and blocks that are in the profile, whose
 * samples are sorted. Halves are given theirs, too. */
KYMO_NODISCARD
kymo_err kymo_ingest_join_labels(kymo_ingest *in);
/* ingest_labels.c: what a label says, whose number is in value->as already; kind: enum
 * kymo_mark_kind. Of a label that was taken back value->kind stays KYMO_VALUE_NONE. */
KYMO_NODISCARD
kymo_err kymo_ingest_label_value(kymo_ingest *in, uint32_t kind, const char *text,
                                 kymo_value *value);

/* ingest.c */
KYMO_NODISCARD
kymo_err kymo_ingest_add_note(kymo_ingest *in, uint64_t time_ns, uint32_t process,
                              uint32_t severity, const char *text);

#endif
