/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_sums.h - adds up samples of the same thread, stack and labels, for formats whose samples
 * are sums.
 *
 * Layer:    encode; above profile
 * Flow:     samples of a profile -> [sample_sums] -> pprof_samples.c, otlp_samples.c
 * Threads:  one owner at a time
 * Memory:   for each stack, nine bytes and a number for each column
 * Signals:  not for handlers
 *
 * Samples are summed up set by set, in columns indexed by stack, without hashing. A thread that
 * handles one request after the other has as many sets as requests, each with few samples. So the
 * samples are sorted by set, and the cost of a set depends only on its own samples.
 */
#ifndef KYMO_ENCODE_SAMPLE_SUMS_H
#define KYMO_ENCODE_SAMPLE_SUMS_H

#include "encode/encoder.h"

#define KYMO_NO_COLUMN UINT32_MAX

/* For each sample type of the profile: the columns of its values. */
struct kymo_sums_columns {
    uint32_t count; /* index of the column of counts */
    uint32_t value;
};

/* What is done with the sums. Each is given the context. */
struct kymo_sums_writer {
    /* The samples that follow are of this thread, and have no labels of the program. */
    kymo_err (*thread)(void *context, const kymo_thread *thread);
    /* They have these; KYMO_NONE: none. */
    kymo_err (*labels)(void *context, uint32_t set);
    /* A sum for each column. stack may be KYMO_NONE. */
    kymo_err (*sample)(void *context, uint32_t stack, const uint64_t *values);
};

typedef struct kymo_sample_sums {
    kymo_encoder *encoder;
    const kymo_profile *p;
    struct kymo_sums_columns columns[KYMO_SAMPLE_TYPES_MAX]; /* by sample type */
    uint32_t column_count;
    const struct kymo_sums_writer *writer;
    void *context;
    uint32_t *touched;   /* stacks with samples in the current thread or set */
    uint8_t *is_touched; /* by stack */
    uint64_t *values;    /* column_count by stack: sums of one thread and set of labels */
} kymo_sample_sums;

/* Gives each sample type its columns: that of counts, where it has a name for it, and that of
 * values. Types without a sample that are optional have none, nor, where the options want one type
 * alone, have the others. `before` (NULL: none) is a profile whose samples count, too. */
void kymo_sample_sums_choose(kymo_sample_sums *sums, const kymo_encoder *encoder,
                             const kymo_profile *before);
/* Whether the options want one sample type alone. */
int kymo_sample_sums_is_alone(const kymo_encoder *encoder);
/* The period of a sample type, 0: none. */
uint64_t kymo_sample_period(const kymo_profile *profile, const kymo_sample_type *type);

/* When the columns are chosen: adds up, and writes. */
KYMO_NODISCARD
kymo_err kymo_sample_sums_write(kymo_sample_sums *sums, kymo_encoder *encoder,
                                const struct kymo_sums_writer *writer, void *context);

#endif
