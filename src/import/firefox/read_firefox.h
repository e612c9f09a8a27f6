/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_firefox.h - what the parts of the reader of Firefox profiles share.
 *
 * Layer:    import, private to the format
 * Flow:     read_firefox.c: meta, libs, threads -> read_firefox_tables.c: stacks
 *           -> read_firefox_samples.c: samples
 * Threads:  one owner at a time
 * Memory:   columns from malloc, those of one thread at a time; text stays in the file's bytes
 * Signals:  not for handlers
 */
#ifndef KYMO_IMPORT_FIREFOX_READ_FIREFOX_H
#define KYMO_IMPORT_FIREFOX_READ_FIREFOX_H

#include "base/json_read.h"
#include "import/importer.h"

#define KYMO_FIREFOX_VERSION_MAX 66
#define KYMO_FIREFOX_PROCESSES_MAX 4096u /* they are looked for one by one */

/* Where the value of a key begins; 0: it is not there. */
typedef size_t kymo_firefox_place;

/* A column of numbers; null and what is below 0 is KYMO_NONE. */
typedef KYMO_VEC(uint32_t) kymo_firefox_column;

/* The tables of stacks: of the file, or of one thread. Newer versions have more and more of them in
 * "shared": first strings and sources, then all. */
struct kymo_firefox_tables {
    const struct kymo_firefox_tables
        *texts;                 /* whose strings and sources these are; NULL: its own */
    KYMO_VEC(uint64_t) strings; /* where each begins */
    kymo_firefox_column func_name, func_file, func_source, func_resource, func_line;
    kymo_firefox_column source_file;
    kymo_firefox_column resource_lib;
    kymo_firefox_column frame_func, frame_address, frame_depth, frame_line, frame_column;
    kymo_firefox_column stack_frame, stack_prefix;
    int has_offsets; /* stack_prefix is the distance to the caller, 0 of the outermost */
    size_t charged;  /* bytes that the limit knows of */
    kymo_firefox_column functions, frames, stacks; /* what each row became, or KYMO_NONE */
};

struct kymo_firefox_reader {
    kymo_importer *d;
    kymo_firefox_place meta, libs, threads, shared;
    int64_t version;
    int has_cpu; /* samples have CPU time as well, in units of cpu_factor nanoseconds */
    uint64_t cpu_factor;
    uint32_t weight_types;       /* bits of kymo_firefox_weight that threads have */
    uint32_t sample_types[3];    /* by kymo_firefox_weight, in the profile */
    uint32_t cpu_type;           /* likewise */
    kymo_firefox_column modules; /* by lib */
    KYMO_VEC(uint32_t) pids;     /* strings: by process of the profile */
    struct kymo_firefox_tables of_file;
    KYMO_VEC(char) text; /* of one string */
};

/* What the weights of a thread's samples are. */
enum kymo_firefox_weight { KYMO_FIREFOX_SAMPLES, KYMO_FIREFOX_TIME, KYMO_FIREFOX_BYTES };

static inline kymo_json_read kymo_firefox_open(const struct kymo_firefox_reader *r,
                                               kymo_firefox_place place)
{
    return kymo_json_read_at(r->d->data, r->d->len, place);
}

/* KYMO_OK unless the reader has failed. */
kymo_err kymo_firefox_check(struct kymo_firefox_reader *r, const kymo_json_read *j,
                            const char *what);
/* Places of the values of these keys in the object at `object`; count of both. */
kymo_err kymo_firefox_find(struct kymo_firefox_reader *r, kymo_firefox_place object,
                           const char *const *keys, kymo_firefox_place *const *places,
                           size_t count);
/* A string of JSON as one of the profile. */
kymo_err kymo_firefox_string(struct kymo_firefox_reader *r, const kymo_json_text *text,
                             uint32_t *string);

/* read_firefox_tables.c. place: of a thread, or of "shared". */
kymo_err kymo_firefox_read_tables(struct kymo_firefox_reader *r, kymo_firefox_place place,
                                  struct kymo_firefox_tables *t);
void kymo_firefox_free_tables(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t);
/* A row of the table of strings as one of the profile. */
kymo_err kymo_firefox_table_string(struct kymo_firefox_reader *r,
                                   const struct kymo_firefox_tables *t, uint32_t row,
                                   uint32_t *string);
/* The stack of a row; KYMO_NONE for KYMO_NONE. */
kymo_err kymo_firefox_find_stack(struct kymo_firefox_reader *r, struct kymo_firefox_tables *t,
                                 uint32_t row, uint32_t *stack);

/* read_firefox_samples.c. place: of a thread's samples. The first says which weights they have. */
kymo_err kymo_firefox_look_at_samples(struct kymo_firefox_reader *r, kymo_firefox_place place);
kymo_err kymo_firefox_set_types(struct kymo_firefox_reader *r);
kymo_err kymo_firefox_read_samples(struct kymo_firefox_reader *r, kymo_firefox_place place,
                                   struct kymo_firefox_tables *t, uint32_t thread);

#endif
