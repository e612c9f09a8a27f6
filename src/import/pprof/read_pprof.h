/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_pprof.h - what the parts of the pprof reader share.
 *
 * Layer:    import, private to the format
 * Flow:     read_pprof.c: fields -> read_pprof_tables.c: frames -> read_pprof_samples.c: samples
 * Threads:  one owner at a time
 * Memory:   tables in the importer's arena; text stays in the file's bytes
 * Signals:  not for handlers
 */
#ifndef KYMO_IMPORT_PPROF_READ_PPROF_H
#define KYMO_IMPORT_PPROF_READ_PPROF_H

#include "base/key_map.h"
#include "base/wire.h"
#include "import/importer.h"

/* Fields of profile.proto, message by message. */
enum {
    KYMO_WIRE_PROFILE_SAMPLE_TYPE = 1,
    KYMO_WIRE_PROFILE_SAMPLE = 2,
    KYMO_WIRE_PROFILE_MAPPING = 3,
    KYMO_WIRE_PROFILE_LOCATION = 4,
    KYMO_WIRE_PROFILE_FUNCTION = 5,
    KYMO_WIRE_PROFILE_STRING = 6,
    KYMO_WIRE_PROFILE_TIME_NANOS = 9,
    KYMO_WIRE_PROFILE_DURATION_NANOS = 10,
    KYMO_WIRE_PROFILE_PERIOD_TYPE = 11,
    KYMO_WIRE_PROFILE_PERIOD = 12,
    KYMO_WIRE_PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    KYMO_WIRE_PROFILE_FIELDS = 16, /* one more than the last that is known */
    KYMO_WIRE_VALUE_TYPE = 1,
    KYMO_WIRE_VALUE_UNIT = 2,
    KYMO_WIRE_SAMPLE_LOCATION = 1,
    KYMO_WIRE_SAMPLE_VALUE = 2,
    KYMO_WIRE_SAMPLE_LABEL = 3,
    KYMO_WIRE_LABEL_KEY = 1,
    KYMO_WIRE_LABEL_STR = 2,
    KYMO_WIRE_LABEL_NUM = 3,
    KYMO_WIRE_MAPPING_ID = 1,
    KYMO_WIRE_MAPPING_START = 2,
    KYMO_WIRE_MAPPING_LIMIT = 3,
    KYMO_WIRE_MAPPING_OFFSET = 4,
    KYMO_WIRE_MAPPING_FILENAME = 5,
    KYMO_WIRE_MAPPING_BUILD_ID = 6,
    KYMO_WIRE_LOCATION_ID = 1,
    KYMO_WIRE_LOCATION_MAPPING = 2,
    KYMO_WIRE_LOCATION_ADDRESS = 3,
    KYMO_WIRE_LOCATION_LINE = 4,
    KYMO_WIRE_LINE_FUNCTION = 1,
    KYMO_WIRE_LINE_LINE = 2,
    KYMO_WIRE_LINE_COLUMN = 3,
    KYMO_WIRE_FUNCTION_ID = 1,
    KYMO_WIRE_FUNCTION_NAME = 2,
    KYMO_WIRE_FUNCTION_SYSTEM_NAME = 3,
    KYMO_WIRE_FUNCTION_FILENAME = 4,
    KYMO_WIRE_FUNCTION_START_LINE = 5,
};

/* A message of the file: where it is. Files are smaller than 4 GiB here. */
struct kymo_pprof_message {
    uint32_t at, len;
};

/* A row of a table that others refer to by its id. */
struct kymo_pprof_row {
    uint64_t id;
    struct kymo_pprof_message message;
    uint32_t made; /* what it became in the profile; KYMO_NONE: nothing yet */
};

struct kymo_pprof_table {
    struct kymo_pprof_row *rows;
    uint32_t count;
    int is_dense;     /* the ids are 1, 2, 3 ... in the order of the file */
    kymo_key_map map; /* else from ids to rows */
};

struct kymo_pprof_reader {
    kymo_importer *d;
    uint32_t counts[KYMO_WIRE_PROFILE_FIELDS]; /* of messages, by their field */
    struct kymo_pprof_message *strings;
    uint32_t string_count;
    struct kymo_pprof_message *sample_types;
    struct kymo_pprof_table mappings, locations, functions;
    uint64_t time_nanos, duration_nanos, period;
    struct kymo_pprof_message period_type;
    uint64_t default_sample_type;
    uint32_t main_process;
    uint64_t factors[KYMO_SAMPLE_TYPES_MAX]; /* from values to those of the profile */
    uint32_t type_count;
    uint32_t shown_type;             /* the default one */
    int shown_is_cpu, shown_is_time; /* it is CPU time, or any other time in nanoseconds */
    unsigned __int128 shown_sum;     /* of all its values */
    uint64_t *values;                /* of one sample */
    KYMO_VEC(uint64_t) stack;        /* location ids of one sample */
    KYMO_VEC(kymo_label) labels;     /* of one sample */
};

static inline uint64_t kymo_pprof_place(const struct kymo_pprof_reader *r, const unsigned char *at)
{
    return (uint64_t)(at - (const unsigned char *)r->d->data);
}

static inline kymo_reader kymo_pprof_open(const struct kymo_pprof_reader *r,
                                          struct kymo_pprof_message m)
{
    return kymo_reader_of(r->d->data + m.at, m.len);
}

/* The end of a message was reached: whether all of it made sense. */
kymo_err kymo_pprof_ended(struct kymo_pprof_reader *r, const kymo_reader *message,
                          struct kymo_pprof_message whole, const char *what);
/* The text of a string. */
kymo_err kymo_pprof_find_text(struct kymo_pprof_reader *r, uint64_t index, uint64_t position,
                              const char **text, size_t *len);
/* The same as a string of the profile. */
kymo_err kymo_pprof_find_string(struct kymo_pprof_reader *r, uint64_t index, uint64_t position,
                                uint32_t *string);

/* read_pprof_types.c: sample types, with their units as the profile has them. */
kymo_err kymo_pprof_read_types(struct kymo_pprof_reader *r);
/* read_pprof_tables.c. Reads the ids of a table's rows, and says of an id that is there twice. */
kymo_err kymo_pprof_index_table(struct kymo_pprof_reader *r, struct kymo_pprof_table *table,
                                const char *what);
kymo_err kymo_pprof_read_mappings(struct kymo_pprof_reader *r);
/* The frame of a location. */
kymo_err kymo_pprof_find_frame(struct kymo_pprof_reader *r, uint64_t location, uint64_t position,
                               uint32_t *frame);
/* read_pprof_samples.c */
kymo_err kymo_pprof_read_samples(struct kymo_pprof_reader *r);
/* The pid of the first sample, to which the mappings are given; 0: it has none. */
kymo_err kymo_pprof_first_pid(struct kymo_pprof_reader *r, int32_t *pid);

#endif
