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
#include "encode/mapping_numbers.h"
#include "encode/sample_sums.h"
#include "encode/text_numbers.h"

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
    kymo_proto labels; /* of the thread, encoded once, and then of a set; copied into each sample */
    size_t thread_labels_len;
    kymo_text_numbers strings;
    kymo_mapping_numbers mappings;
    uint8_t *mapping_flags;  /* by number of the mapping */
    uint64_t function_count; /* written so far, from 1 */
    kymo_sample_sums sums;   /* of time */
    uint32_t key_thread;     /* numbers of strings */
    uint32_t key_tid;
    uint32_t key_pid;
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
/* The number of a string of the profile; and of any text. */
static inline uint32_t kymo_pprof_string(kymo_pprof *w, uint32_t string)
{
    return kymo_text_number(&w->strings, string);
}
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
/* Labels of the samples that follow: as kymo_sums_writer.thread and .labels. */
KYMO_NODISCARD
kymo_err kymo_pprof_thread(void *pprof, const kymo_thread *thread);
KYMO_NODISCARD
kymo_err kymo_pprof_labels(void *pprof, uint32_t set);
/* Puts the locations of a stack (KYMO_NONE: none) into w->message. */
void kymo_pprof_put_stack(kymo_pprof *w, uint32_t stack);
/* Writes w->message with these labels as a sample. */
KYMO_NODISCARD
kymo_err kymo_pprof_put_sample(kymo_pprof *w);

/* pprof_heap.c: types, period and default; comments about the heap; the field "sample". */
void kymo_pprof_heap_head(kymo_pprof *w);
void kymo_pprof_heap_comments(kymo_pprof *w);
KYMO_NODISCARD
kymo_err kymo_pprof_heap_samples(kymo_pprof *w);

/* pprof_samples.c: the field "sample". */
KYMO_NODISCARD
kymo_err kymo_pprof_samples(kymo_pprof *w);

#endif
