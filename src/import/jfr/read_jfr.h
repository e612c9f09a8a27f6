/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr.h - what the parts of the reader of JFR files share.
 *
 * Layer:    import, private to the format
 * Flow:     read_jfr.c: chunks -> read_jfr_metadata.c: classes -> read_jfr_pools.c: constants
 *           -> read_jfr_settings.c, read_jfr_events.c, read_jfr_heap.c: events
 *           -> read_jfr_threads.c, read_jfr_stacks.c: what they refer to
 * Threads:  one owner at a time
 * Memory:   tables of a chunk in its arena, which ends with the chunk; text stays in the file's
 *           bytes
 * Signals:  not for handlers
 *
 * Names of classes and fields are looked at once, when the description of a chunk is read. Each
 * event class that is known gets its kind, each field that is known gets its role. A row is the
 * values of an event or of a constant by role, wherever they are in it.
 */
#ifndef KYMO_IMPORT_JFR_READ_JFR_H
#define KYMO_IMPORT_JFR_READ_JFR_H

#include "base/key_map.h"
#include "import/importer.h"
#include "import/jfr/jfr_wire.h"

#define KYMO_JFR_CLASSES_MAX 65536u
#define KYMO_JFR_CLASS_DEPTH_MAX 16u /* structures in structures */

/* ---- the description ---- */

typedef enum kymo_jfr_shape {
    KYMO_JFR_SHAPE_UNKNOWN = 0, /* not described, or it contains itself: it cannot be skipped */
    KYMO_JFR_SHAPE_EMPTY,       /* a structure of no bytes */
    KYMO_JFR_SHAPE_STRUCT,
    KYMO_JFR_SHAPE_BYTE,
    KYMO_JFR_SHAPE_VARINT,
    KYMO_JFR_SHAPE_FLOAT,
    KYMO_JFR_SHAPE_DOUBLE,
    KYMO_JFR_SHAPE_STRING,
} kymo_jfr_shape;

/* Constants that are read; those of other classes are skipped. */
typedef enum kymo_jfr_pool_kind {
    KYMO_JFR_NO_POOL = 0,
    KYMO_JFR_STRINGS,
    KYMO_JFR_SYMBOLS,
    KYMO_JFR_CLASSES,
    KYMO_JFR_METHODS,
    KYMO_JFR_FRAME_TYPES,
    KYMO_JFR_STATES,
    KYMO_JFR_THREADS,
    KYMO_JFR_STACKS,
    KYMO_JFR_POOL_KINDS
} kymo_jfr_pool_kind;

/* What is done with an event. */
typedef enum kymo_jfr_event {
    KYMO_JFR_EVENT_SKIPPED = 0,
    KYMO_JFR_EVENT_EXECUTION,
    KYMO_JFR_EVENT_CPU_TIME_SAMPLE,
    KYMO_JFR_EVENT_NATIVE,
    KYMO_JFR_EVENT_WALL,
    KYMO_JFR_EVENT_ALLOCATION,
    KYMO_JFR_EVENT_LIVE_OBJECT,
    KYMO_JFR_EVENT_MALLOC,
    KYMO_JFR_EVENT_FREE,
    KYMO_JFR_EVENT_LOCK,
    KYMO_JFR_EVENT_KYMO_CPU_TIME,
    KYMO_JFR_EVENT_KYMO_WALL_TIME,
    KYMO_JFR_EVENT_KYMO_LABEL,
    KYMO_JFR_EVENT_KYMO_SAMPLE,
    KYMO_JFR_EVENT_KYMO_COUNTER,
    KYMO_JFR_EVENT_KYMO_MALLOC_WEIGHT,
    KYMO_JFR_EVENT_SETTING, /* this one and the rest are read before any sample */
    KYMO_JFR_EVENT_JVM,
    KYMO_JFR_EVENT_SYSTEM,
    KYMO_JFR_EVENT_CPU,
    KYMO_JFR_EVENT_LIBRARY,
    KYMO_JFR_EVENT_KYMO_BUILD_ID,
    KYMO_JFR_EVENT_KYMO_PROCESS,
    KYMO_JFR_EVENT_KYMO_THREAD,
    KYMO_JFR_EVENT_SAMPLES_LOST,
    KYMO_JFR_EVENT_DATA_LOST,
    KYMO_JFR_EVENT_KYMO_QUALITY,
    KYMO_JFR_EVENT_KINDS
} kymo_jfr_event;

/* What a field says, by its name. */
typedef enum kymo_jfr_role {
    KYMO_JFR_ROLE_NONE = 0,
    KYMO_JFR_ROLE_START_TIME,
    KYMO_JFR_ROLE_DURATION,
    KYMO_JFR_ROLE_THREAD,
    KYMO_JFR_ROLE_STACK,
    KYMO_JFR_ROLE_STATE,
    KYMO_JFR_ROLE_SAMPLES,
    KYMO_JFR_ROLE_WALL_TIME,
    KYMO_JFR_ROLE_SAMPLING_PERIOD,
    KYMO_JFR_ROLE_CPU_TIME,
    KYMO_JFR_ROLE_WEIGHT,
    KYMO_JFR_ROLE_ALLOCATION_SIZE,
    KYMO_JFR_ROLE_TLAB_SIZE,
    KYMO_JFR_ROLE_OBJECT_CLASS,
    KYMO_JFR_ROLE_ADDRESS,
    KYMO_JFR_ROLE_SIZE,
    KYMO_JFR_ROLE_ALLOCATED,
    KYMO_JFR_ROLE_KEY,
    KYMO_JFR_ROLE_VALUE,
    KYMO_JFR_ROLE_OPERATIONS,
    KYMO_JFR_ROLE_ID,
    KYMO_JFR_ROLE_NAME,
    KYMO_JFR_ROLE_PID,
    KYMO_JFR_ROLE_ARGUMENTS,
    KYMO_JFR_ROLE_SYSTEM,
    KYMO_JFR_ROLE_CPU,
    KYMO_JFR_ROLE_OS_NAME,
    KYMO_JFR_ROLE_OS_ID,
    KYMO_JFR_ROLE_JAVA_NAME,
    KYMO_JFR_ROLE_TRUNCATED,
    KYMO_JFR_ROLE_FRAMES,
    KYMO_JFR_ROLE_METHOD,
    KYMO_JFR_ROLE_LINE,
    KYMO_JFR_ROLE_TYPE,
    KYMO_JFR_ROLE_STRING,
    KYMO_JFR_ROLE_DESCRIPTION,
    KYMO_JFR_ROLE_LOST,
    KYMO_JFR_ROLES
} kymo_jfr_role;

/* Text as it is in the file, or decoded in the chunk's arena. */
typedef struct kymo_jfr_text {
    const char *data;
    size_t len;
} kymo_jfr_text;

typedef struct kymo_jfr_member {
    kymo_jfr_text name;
    kymo_jfr_text label; /* empty: none */
    uint64_t class_id;
    uint32_t class_at; /* KYMO_NONE: not described */
    uint8_t role;
    uint8_t is_pool;
    uint8_t is_array;
} kymo_jfr_member;

typedef struct kymo_jfr_class {
    kymo_jfr_text name;
    kymo_jfr_text label;
    uint64_t id;
    uint64_t count; /* events of it in the chunk */
    uint32_t first_member, member_count;
    uint32_t own_type; /* of Kymo's files: a place in own_types */
    uint8_t shape;
    uint8_t pool;
    uint8_t event;
    uint8_t mark; /* while shapes are found */
} kymo_jfr_class;

/* ---- rows ---- */

typedef enum kymo_jfr_cell_kind {
    KYMO_JFR_CELL_NUMBER,
    KYMO_JFR_CELL_REAL,
    KYMO_JFR_CELL_TEXT,
    KYMO_JFR_CELL_POOL,  /* number: the key; of the member's class */
    KYMO_JFR_CELL_ARRAY, /* at: the count of its elements */
} kymo_jfr_cell_kind;

typedef struct kymo_jfr_cell {
    uint64_t number;
    double real;
    const unsigned char *at;
    const kymo_jfr_member *member;
    uint32_t kind;
} kymo_jfr_cell;

typedef struct kymo_jfr_row {
    uint64_t has; /* bits of roles */
    uint64_t position;
    kymo_jfr_cell cells[KYMO_JFR_ROLES];
} kymo_jfr_row;

/* ---- constants ---- */

typedef struct kymo_jfr_constant {
    uint64_t key;
    uint32_t at;   /* where its value begins */
    uint32_t made; /* what it became; KYMO_NONE: nothing yet */
} kymo_jfr_constant;

typedef struct kymo_jfr_constants {
    kymo_jfr_constant *rows; /* by key */
    uint32_t count;
    uint32_t class_at;
} kymo_jfr_constants;

/* ---- the file ---- */

/* A chunk, while it is read. */
typedef struct kymo_jfr_part {
    uint64_t at, end; /* in the file */
    uint64_t constants_at, metadata_at;
    uint64_t start_epoch_ns, duration_ns, start_ticks, ticks_per_second;
    kymo_arena arena;
    size_t charged;
    kymo_jfr_class *classes;
    uint32_t class_count;
    kymo_jfr_member *members;
    uint32_t member_count;
    kymo_key_map class_map;
    kymo_jfr_constants pools[KYMO_JFR_POOL_KINDS];
    int has_native_frames; /* frames of type Native are no methods of Java */
} kymo_jfr_part;

/* A sample type or a counter that has a class of its own, which Kymo writes. */
typedef struct kymo_jfr_own_type {
    uint32_t name, unit; /* strings */
    uint32_t place;      /* sample type */
    int is_counter;      /* it is none */
} kymo_jfr_own_type;

/* What the file says is missing in it. */
typedef struct kymo_jfr_loss {
    uint32_t kind; /* string */
    uint64_t count;
} kymo_jfr_loss;

/* The labels of the next samples of a thread. */
typedef struct kymo_jfr_run {
    uint64_t left;   /* samples */
    uint32_t set;    /* KYMO_NONE: none */
    uint32_t is_new; /* no sample has had them yet: more may be added */
} kymo_jfr_run;

/* A sample while it is read. */
typedef struct kymo_jfr_sample {
    uint64_t time_ns, value;
    uint32_t place; /* of its thread in importer->threads */
    uint32_t stack, labels, state, type;
} kymo_jfr_sample;

/* A malloc or a free. */
typedef struct kymo_jfr_allocation {
    uint64_t time_ns, address, size;
    uint64_t allocated; /* bytes that it adds to what was allocated */
    double weight;      /* blocks that it stands for */
    uint32_t place, stack;
    uint32_t order; /* in the file */
    uint8_t is_free, is_freed;
} kymo_jfr_allocation;

typedef struct kymo_jfr_frame {
    uint32_t function, line;
    uint32_t category; /* kymo_category */
} kymo_jfr_frame;

struct kymo_jfr_reader {
    kymo_importer *d;
    uint64_t len;       /* of the chunks that are read */
    int is_kymo;        /* written by Kymo: it has Kymo's events */
    kymo_jfr_part part; /* the chunk that is read */

    /* Of the first pass. */
    uint64_t counts[KYMO_JFR_EVENT_KINDS];
    uint64_t origin_epoch_ns;  /* the zero of the profile */
    uint64_t start_ns, end_ns; /* since then */
    uint64_t period_ns, native_period_ns, wall_period_ns;
    int has_cpu_event, is_wall_event, is_other_event; /* what async-profiler sampled by */
    int32_t pid;                                      /* of threads whose process is not said */
    uint32_t product, system, cpu;                    /* strings */
    kymo_key_map thread_pids;                         /* Kymo: by key of thread */
    kymo_key_map libraries;                           /* paths by name, as strings */
    kymo_key_map build_ids;                           /* texts by path */
    KYMO_VEC(kymo_jfr_loss) losses;
    KYMO_VEC(kymo_jfr_own_type) own_types;
    kymo_key_map own_type_map; /* by name of class */

    /* Of the second pass. */
    uint32_t types[KYMO_JFR_EVENT_KINDS]; /* sample types */
    uint32_t inuse_type;                  /* what was not freed */
    uint32_t type_count;
    kymo_key_map modules;        /* by name */
    kymo_key_map counters;       /* by own type and pid */
    KYMO_VEC(kymo_jfr_run) runs; /* by place of thread */
    KYMO_VEC(kymo_jfr_frame) frames;
    KYMO_VEC(kymo_jfr_allocation) allocations;
    kymo_jfr_row row;               /* of an event */
    char text[KYMO_STRING_MAX + 8]; /* the last one that was decoded */
};

static inline uint64_t kymo_jfr_place(const struct kymo_jfr_reader *r, const unsigned char *at)
{
    return (uint64_t)(at - (const unsigned char *)r->d->data);
}

/* From here to the end of the chunk. */
static inline kymo_reader kymo_jfr_reader_at(const struct kymo_jfr_reader *r,
                                             const unsigned char *at)
{
    return kymo_reader_of(at, (size_t)(r->part.end - kymo_jfr_place(r, at)));
}

static inline int kymo_jfr_has(const kymo_jfr_row *row, kymo_jfr_role role)
{
    return row->has >> role & 1;
}

/* read_jfr.c. An array of zeros that lives as long as the chunk. */
kymo_err kymo_jfr_table(struct kymo_jfr_reader *r, size_t count, size_t size, void *table);

/* read_jfr_metadata.c. Fills the classes of r->part. */
kymo_err kymo_jfr_read_metadata(struct kymo_jfr_reader *r);

/* read_jfr_pools.c. Fills the pools of r->part. */
kymo_err kymo_jfr_read_pools(struct kymo_jfr_reader *r);
/* NULL: there is none of this key. */
kymo_jfr_constant *kymo_jfr_find_constant(const struct kymo_jfr_reader *r, unsigned pool,
                                          uint64_t key);
/* The same with its fields; 0: there is none, and the row is empty. */
int kymo_jfr_open_constant(const struct kymo_jfr_reader *r, unsigned pool, uint64_t key,
                           kymo_jfr_constant **constant, kymo_jfr_row *row);

/* read_jfr_values.c. A value that is not whole, or not described, fails the reader. */
void kymo_jfr_skip_value(const kymo_jfr_part *part, kymo_reader *in, uint32_t class_at);
/* A string, which does not refer to a constant; valid until the next one is read. */
void kymo_jfr_read_text(struct kymo_jfr_reader *r, kymo_reader *in, kymo_jfr_text *text);
/* The fields of an event or a constant. */
void kymo_jfr_read_row(const struct kymo_jfr_reader *r, kymo_reader *in, uint32_t class_at,
                       kymo_jfr_row *row);
/* 0 if the row has no such field, or it is of another kind. */
uint64_t kymo_jfr_number(const kymo_jfr_row *row, kymo_jfr_role role);
double kymo_jfr_real(const kymo_jfr_row *row, kymo_jfr_role role);
/* "" if there is none. Valid until the next text is read. */
kymo_err kymo_jfr_row_text(struct kymo_jfr_reader *r, const kymo_jfr_row *row, kymo_jfr_role role,
                           kymo_jfr_text *text);
kymo_err kymo_jfr_constant_text(struct kymo_jfr_reader *r, kymo_jfr_pool_kind pool, uint64_t key,
                                kymo_jfr_text *text);
/* The same as a string of the profile. */
kymo_err kymo_jfr_row_string(struct kymo_jfr_reader *r, const kymo_jfr_row *row, kymo_jfr_role role,
                             uint32_t *string);

/* read_jfr_stacks.c. All take keys of constants but the first, which makes the types of frames of
 * the chunk ready. */
kymo_err kymo_jfr_read_frame_types(struct kymo_jfr_reader *r);
/* KYMO_NONE: there is no such stack. */
kymo_err kymo_jfr_find_stack(struct kymo_jfr_reader *r, uint64_t key, uint32_t *stack);
/* A class as Java's source names it, of objects also `int[]`; 0: there is none. */
kymo_err kymo_jfr_class_name(struct kymo_jfr_reader *r, uint64_t key, uint32_t *string);
kymo_err kymo_jfr_object_class(struct kymo_jfr_reader *r, uint64_t key, uint32_t *string);

/* read_jfr_threads.c. The place of a thread in importer->threads; of an unknown one, too. */
kymo_err kymo_jfr_find_thread(struct kymo_jfr_reader *r, uint64_t key, uint32_t *place);
/* What a sample's thread did; KYMO_STATE_UNKNOWN if that is not said. */
kymo_err kymo_jfr_find_state(struct kymo_jfr_reader *r, uint64_t key, kymo_thread_state *state);
/* A label of the samples of a thread that follow, and the labels of its next sample. */
kymo_err kymo_jfr_take_label(struct kymo_jfr_reader *r, const kymo_jfr_row *row);
uint32_t kymo_jfr_next_labels(struct kymo_jfr_reader *r, uint32_t place);

/* read_jfr_settings.c. Adds to what is missing of a kind; kinds beyond KYMO_LOST_MAX are left out.
 */
kymo_err kymo_jfr_add_loss(struct kymo_jfr_reader *r, const char *kind, uint64_t count);
/* Puts the losses into the profile. */
kymo_err kymo_jfr_say_losses(struct kymo_jfr_reader *r);
/* An event that is no sample. */
kymo_err kymo_jfr_take_setting(struct kymo_jfr_reader *r, unsigned event, const kymo_jfr_row *row);

/* read_jfr_types.c. After the first pass. */
kymo_err kymo_jfr_set_types(struct kymo_jfr_reader *r);
/* The place in own_types of a class. */
kymo_err kymo_jfr_find_own_type(struct kymo_jfr_reader *r, const kymo_jfr_class *class,
                                uint32_t *place);

/* read_jfr_events.c. An event of the second pass. */
kymo_err kymo_jfr_take_event(struct kymo_jfr_reader *r, const kymo_jfr_class *class,
                             const kymo_jfr_row *row);
/* At most INT64_MAX. Times are since the profile's zero, and not before it. */
uint64_t kymo_jfr_span_ns(const struct kymo_jfr_reader *r, uint64_t ticks);
uint64_t kymo_jfr_time_ns(const struct kymo_jfr_reader *r, uint64_t ticks);
/* The time, thread and stack of an event. */
kymo_err kymo_jfr_begin_sample(struct kymo_jfr_reader *r, const kymo_jfr_row *row,
                               kymo_jfr_sample *sample);
kymo_err kymo_jfr_add_sample(struct kymo_jfr_reader *r, const kymo_jfr_sample *sample);

/* read_jfr_heap.c. A malloc, a free, or what Kymo says of the malloc before. */
kymo_err kymo_jfr_take_memory(struct kymo_jfr_reader *r, unsigned event, const kymo_jfr_row *row);
/* At the end of the file. */
kymo_err kymo_jfr_end_memory(struct kymo_jfr_reader *r);

#endif
