/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.h - the parts of the pprof format, and their state while one file is written.
 *
 * Layer:    encode; above profile
 * Flow:     pprof.c -> [pprof] -> pprof_samples.c, pprof_heap.c
 * Threads:  one owner at a time
 * Memory:   owned by pprof.c
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_PPROF_PPROF_H
#define KYMO_ENCODE_PPROF_PPROF_H

#include "encode/encoder_heap.h"
#include "encode/pprof/proto.h"

/* Field numbers of profile.proto. */
enum {
    KYMO_PPROF_PROFILE_SAMPLE_TYPE = 1,
    KYMO_PPROF_PROFILE_SAMPLE = 2,
    KYMO_PPROF_PROFILE_MAPPING = 3,
    KYMO_PPROF_PROFILE_LOCATION = 4,
    KYMO_PPROF_PROFILE_FUNCTION = 5,
    KYMO_PPROF_PROFILE_STRING = 6,
    KYMO_PPROF_PROFILE_TIME_NANOS = 9,
    KYMO_PPROF_PROFILE_DURATION_NANOS = 10,
    KYMO_PPROF_PROFILE_PERIOD_TYPE = 11,
    KYMO_PPROF_PROFILE_PERIOD = 12,
    KYMO_PPROF_PROFILE_COMMENT = 13,
    KYMO_PPROF_PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    KYMO_PPROF_VALUE_TYPE = 1,
    KYMO_PPROF_VALUE_UNIT = 2,
    KYMO_PPROF_SAMPLE_LOCATION = 1,
    KYMO_PPROF_SAMPLE_VALUE = 2,
    KYMO_PPROF_SAMPLE_LABEL = 3,
    KYMO_PPROF_LABEL_KEY = 1,
    KYMO_PPROF_LABEL_STR = 2,
    KYMO_PPROF_LABEL_NUM = 3,
    KYMO_PPROF_LABEL_UNIT = 4,
    KYMO_PPROF_MAPPING_ID = 1,
    KYMO_PPROF_MAPPING_START = 2,
    KYMO_PPROF_MAPPING_LIMIT = 3,
    KYMO_PPROF_MAPPING_OFFSET = 4,
    KYMO_PPROF_MAPPING_FILENAME = 5,
    KYMO_PPROF_MAPPING_BUILD_ID = 6,
    KYMO_PPROF_MAPPING_HAS_FUNCTIONS = 7,
    KYMO_PPROF_MAPPING_HAS_FILENAMES = 8,
    KYMO_PPROF_MAPPING_HAS_LINE_NUMBERS = 9,
    KYMO_PPROF_MAPPING_HAS_INLINE_FRAMES = 10,
    KYMO_PPROF_LOCATION_ID = 1,
    KYMO_PPROF_LOCATION_MAPPING = 2,
    KYMO_PPROF_LOCATION_ADDRESS = 3,
    KYMO_PPROF_LOCATION_LINE = 4,
    KYMO_PPROF_LINE_FUNCTION = 1,
    KYMO_PPROF_LINE_LINE = 2,
    KYMO_PPROF_LINE_COLUMN = 3,
    KYMO_PPROF_FUNCTION_ID = 1,
    KYMO_PPROF_FUNCTION_NAME = 2,
    KYMO_PPROF_FUNCTION_SYSTEM_NAME = 3,
    KYMO_PPROF_FUNCTION_FILENAME = 4,
    KYMO_PPROF_FUNCTION_START_LINE = 5,
};

/* A string that is not in the profile. */
struct kymo_pprof_made {
    kymo_text text;
    uint32_t number;
};

#define KYMO_PPROF_NO_COLUMN UINT32_MAX

/* For each sample type of the profile: the columns of its values. */
struct kymo_pprof_columns {
    uint32_t count; /* index of the column of counts */
    uint32_t value;
};

typedef struct kymo_pprof {
    kymo_encoder *encoder;
    const kymo_profile *p;
    /* Of a profile whose samples are taken off: the one that is in the file already. NULL: this is
     * that one. */
    const struct kymo_pprof *first;
    /* The file's numbers of this profile's functions, locations and mappings are from here on. */
    uint64_t function_base, location_base;
    uint32_t mapping_base;
    kymo_proto out; /* whole fields, not yet passed to the sink */
    kymo_proto message;
    kymo_proto inner;
    uint32_t string_count; /* written so far */
    KYMO_VEC(struct kymo_pprof_made) made;
    kymo_index made_index;
    kymo_arena arena;    /* of the texts of strings */
    uint32_t key_thread; /* their numbers */
    uint32_t key_tid;
    uint32_t key_pid;
    uint32_t *string_of;    /* by string of the profile: number in the file; 0: not yet */
    uint32_t *mapping_of;   /* by module: number in the file, from 1 */
    uint8_t *mapping_flags; /* by that number */
    uint32_t mapping_count;
    uint64_t function_count; /* written so far, from 1 */
    uint32_t *touched;       /* stacks with samples in the current thread or set */
    uint8_t *is_touched;     /* by stack */
    uint64_t *values;        /* column_count by stack: sums of one thread and set of labels */
    struct kymo_pprof_columns columns[KYMO_SAMPLE_TYPES_MAX]; /* by sample type */
    uint32_t column_count;
    int has_wall;            /* elapsed time is shown */
    kymo_encoder_heap *view; /* allocations are shown; NULL: time */
    uint32_t key_bytes;
    uint32_t key_wait;
    uint32_t key_base; /* of samples that are taken off, and its text */
    uint32_t text_base;
    uint32_t unit_count; /* unit of the program's numbers, one that readers do not scale */
} kymo_pprof;

/* Passes `out` to the sink when it is large enough. Call after each top-level field. */
KYMO_NODISCARD
kymo_err kymo_pprof_pass_on(kymo_pprof *w);
/* The number of a string; writes the string at its first use, so `out` must hold only whole
 * fields. For a string of the profile; and for any text. */
uint32_t kymo_pprof_string(kymo_pprof *w, uint32_t string);
uint32_t kymo_pprof_text(kymo_pprof *w, const char *text, size_t len);
uint32_t kymo_pprof_cstr(kymo_pprof *w, const char *text);

/* A value as the file has it: taken off, it is negative. */
static inline uint64_t kymo_pprof_value(const kymo_pprof *w, uint64_t value)
{
    return w->first ? 0 - value : value;
}

/* pprof.c: fields of the head. */
void kymo_pprof_value_type(kymo_pprof *w, unsigned field, const char *type, const char *unit);
KYMO_PRINTF(2, 3) void kymo_pprof_comment(kymo_pprof *w, const char *fmt, ...);

/* pprof_samples.c: a label in w->message, or in another message: text, or a number and its unit. */
void kymo_pprof_label(kymo_pprof *w, kymo_proto *labels, uint32_t key, uint32_t text,
                      int64_t number, uint32_t unit);
/* Replaces the labels by those of a thread; appends those of the program. */
void kymo_pprof_thread_labels(kymo_pprof *w, const kymo_thread *thread, kymo_proto *labels);
void kymo_pprof_set_labels(kymo_pprof *w, uint32_t set, kymo_proto *labels);
/* Puts the locations of a stack (KYMO_NONE: none) into w->message. */
void kymo_pprof_put_stack(kymo_pprof *w, uint32_t stack);
/* Writes w->message with these labels as a sample. */
KYMO_NODISCARD
kymo_err kymo_pprof_put_sample(kymo_pprof *w, const kymo_proto *labels);

/* pprof_heap.c: types, period and default; comments about the heap; the field "sample". */
void kymo_pprof_heap_head(kymo_pprof *w);
void kymo_pprof_heap_comments(kymo_pprof *w);
KYMO_NODISCARD
kymo_err kymo_pprof_heap_samples(kymo_pprof *w);

/* pprof_samples.c: the field "sample". */
KYMO_NODISCARD
kymo_err kymo_pprof_samples(kymo_pprof *w);

#endif
