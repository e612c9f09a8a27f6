/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h - how the tables of a profile lie in memory.
 *
 * Layer:    profile (cold half only); above base
 * Flow:     ingest.c, symbolize/ -> [tables] -> encode/
 * Threads:  one owner at a time
 * Memory:   text in the arena, rows in vectors; kymo_profile_destroy frees all of it
 * Signals:  not for handlers
 *
 * Stacks and samples are columns: there are millions, and a pass over them reads one or two fields.
 * The other tables are rows: a reader of a frame or a function needs all of it. Where identity
 * matters everything is interned, so equal rows have equal ids.
 */
#ifndef KYMO_PROFILE_TABLES_H
#define KYMO_PROFILE_TABLES_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "kymo/profile.h"

typedef struct kymo_text {
    const char *data; /* in the arena, NUL-terminated */
    uint32_t len;
} kymo_text;

/* Ids of a module that encoders need beside its public row. */
typedef struct kymo_module_ids {
    uint32_t path; /* strings */
    uint32_t name;
    uint32_t file; /* the first module with this path and build-id */
} kymo_module_ids;

/* The samples of one thread. */
typedef struct kymo_sample_columns {
    uint64_t *time_ns;
    uint64_t *weight_ns;
    uint32_t *stack;
    uint8_t *kind;
    uint8_t *state;
    uint32_t *labels; /* NULL: no sample has labels */
    size_t count;
    size_t cap;
    int unsorted;
} kymo_sample_columns;

/* The markers of one thread. */
typedef struct kymo_marker_rows {
    KYMO_VEC(kymo_marker) rows;
    int unsorted;
} kymo_marker_rows;

/* The allocations and mappings of one process. */
typedef struct kymo_allocation_rows {
    KYMO_VEC(kymo_allocation) rows;
    int unsorted;
} kymo_allocation_rows;

typedef struct kymo_mapping_rows {
    KYMO_VEC(kymo_mapping) rows;
} kymo_mapping_rows;

/* The counts of one counter. */
typedef struct kymo_count_columns {
    uint64_t *time_ns;
    int64_t *value;
    uint64_t *operations;
    uint32_t count;
    uint32_t cap;
    int unsorted;
} kymo_count_columns;

/* A name under which a schema is shown. */
typedef struct kymo_schema_name {
    uint32_t string;
    uint32_t next; /* the number that the next schema with this name gets */
} kymo_schema_name;

/* A set of labels: a range of them. */
typedef struct kymo_label_set {
    uint32_t first;
    uint32_t count;
} kymo_label_set;

struct kymo_profile {
    kymo_arena arena;

    KYMO_VEC(kymo_text) strings;
    kymo_index string_index;
    uint64_t string_bytes;

    KYMO_VEC(uint32_t) sources; /* string ids of paths */
    kymo_index source_index;

    KYMO_VEC(kymo_process) processes;

    const kymo_sample_type *sample_types;
    uint32_t sample_type_count;
    uint32_t default_sample_type;

    KYMO_VEC(kymo_thread) threads;
    KYMO_VEC(kymo_sample_columns) samples; /* by thread */
    uint64_t sample_count;
    KYMO_VEC(uint32_t) thread_order;

    KYMO_VEC(kymo_module) modules;
    KYMO_VEC(kymo_module_ids) module_ids; /* by module */
    kymo_index module_file_index;

    KYMO_VEC(kymo_function) functions;
    kymo_index function_index;
    KYMO_VEC(kymo_symbol) symbols;
    kymo_index symbol_index;

    KYMO_VEC(kymo_frame) frames;
    kymo_index frame_index;
    KYMO_VEC(kymo_line) lines; /* ranges of them belong to frames */

    KYMO_VEC(uint32_t) stack_frame;
    KYMO_VEC(uint32_t) stack_parent;
    kymo_index stack_index;

    KYMO_VEC(kymo_marker_category) marker_categories;
    kymo_index marker_category_index;
    KYMO_VEC(kymo_schema) schemas;
    KYMO_VEC(uint32_t) schema_asked; /* by schema: its original name */
    kymo_index schema_index;         /* by content and original name */
    KYMO_VEC(kymo_schema_name) schema_names;
    kymo_index schema_name_index;
    KYMO_VEC(kymo_marker_rows) markers; /* by thread */
    uint64_t marker_count;
    KYMO_VEC(kymo_value) values;
    KYMO_VEC(kymo_marker_losses) marker_losses;
    kymo_index marker_losses_index;

    KYMO_VEC(kymo_counter) counters;
    KYMO_VEC(kymo_count_columns) counts; /* by counter */
    uint64_t count_count;

    KYMO_VEC(kymo_label) labels;
    KYMO_VEC(kymo_label_set) label_sets;
    kymo_index label_set_index;

    /* By process; short if the last processes have none. */
    KYMO_VEC(kymo_allocation_rows) allocations;
    KYMO_VEC(kymo_mapping_rows) mappings;
    KYMO_VEC(kymo_heap) heaps; /* size 0: not recorded */
    uint64_t allocation_count;
    uint64_t mapping_count;
    KYMO_VEC(kymo_ledger) ledger;
    kymo_index ledger_index; /* by process, line and name */
    KYMO_VEC(kymo_memory_info) memory_infos;

    kymo_meta meta;
    kymo_quality quality;
    int finished;
};

/* Whether id is a row of a table with `count` rows, or KYMO_NONE. */
static inline int kymo_is_row_or_none(uint32_t id, size_t count)
{
    return id == KYMO_NONE || id < count;
}

/* Appends a row to its table, and adds it to the index under its hash. */
#define KYMO_TABLE_ADD(table, index, hash, most, row)                                \
    ({                                                                               \
        kymo_err kymo_add_err_ =                                                     \
            (table)->len < (most) ? kymo_vec_reserve((table), 1) : KYMO_E_TOO_BIG;   \
        if (kymo_add_err_ == KYMO_OK)                                                \
            kymo_add_err_ = kymo_index_put((index), (hash), (uint32_t)(table)->len); \
        if (kymo_add_err_ == KYMO_OK)                                                \
            (table)->data[(table)->len++] = (row);                                   \
        kymo_add_err_;                                                               \
    })

/* Interns a row: *id is the row (at) for which is_same is true, else that of a new row. */
#define KYMO_TABLE_INTERN(table, index, hash, most, row, at, is_same, id)               \
    ({                                                                                  \
        uint32_t at;                                                                    \
        int kymo_is_found_ = 0;                                                         \
        kymo_err kymo_intern_err_ = KYMO_OK;                                            \
        for (size_t probe_ = 0;                                                         \
             !kymo_is_found_ && kymo_index_find((index), (hash), &probe_, &at);)        \
            kymo_is_found_ = (is_same);                                                 \
        if (!kymo_is_found_) {                                                          \
            at = (uint32_t)(table)->len;                                                \
            kymo_intern_err_ = KYMO_TABLE_ADD((table), (index), (hash), (most), (row)); \
        }                                                                               \
        if (kymo_intern_err_ == KYMO_OK)                                                \
            *(id) = at;                                                                 \
        kymo_intern_err_;                                                               \
    })

/* Interns text that may be NULL (then "") and gives the profile's copy. */
KYMO_NODISCARD
kymo_err kymo_profile_intern(kymo_profile *profile, const char *text, uint32_t *string,
                             const char **copy);
/* The string with this text, KYMO_NONE if there is none. */
uint32_t kymo_profile_find_string(const kymo_profile *profile, const char *text, size_t len);
/* Copies a list of at most KYMO_ARGS_MAX texts. The last entry of a longer one says how many
 * more there were. *count is the number kept. */
KYMO_NODISCARD
kymo_err kymo_profile_copy_argv(kymo_profile *profile, const char *const *argv, uint32_t argc,
                                const char *const **copy, uint32_t *count);
/* The part of a path after its last slash. */
const char *kymo_path_base(const char *path);

/* stack_table.c: removes the stacks that no sample, marker, allocation or mapping uses, and the
 * frames that no stack uses. The others get new ids, in the same order. */
KYMO_NODISCARD
kymo_err kymo_profile_drop_unused_stacks(kymo_profile *profile);
/* frame_table.c: the same for frames; afterwards map[id] is KYMO_NONE for removed frames and the
 * new id for others. */
KYMO_NODISCARD
kymo_err kymo_profile_drop_frames(kymo_profile *profile, uint32_t *map);

/* profile.c: the memory that the profile has allocated, or will have while its next 65536 rows are
 * added, without markers, counters and allocations; a pass over the threads. */
size_t kymo_profile_used_bytes(const kymo_profile *profile);

/* sample_type_table.c: adds the sample types of recordings, for create. */
void kymo_profile_init_sample_types(kymo_profile *profile);
/* Adds KYMO_SAMPLE_TRACE, as the default one, and KYMO_SAMPLE_CALLS to those of recordings. */
void kymo_profile_add_trace_types(kymo_profile *profile);

/* thread_table.c: for finish. */
KYMO_NODISCARD
kymo_err kymo_profile_settle_threads(kymo_profile *profile);
/* sample_table.c: for finish and destroy. */
KYMO_NODISCARD
kymo_err kymo_sample_columns_sort(kymo_sample_columns *samples);
/* Room for n more samples: adding them cannot fail. */
KYMO_NODISCARD
kymo_err kymo_sample_columns_reserve(kymo_sample_columns *samples, size_t n);
/* Gives the CPU samples without a weight equal shares of this. */
void kymo_sample_columns_share(kymo_sample_columns *samples, uint64_t sum_ns);
/* Both leave those of the stack `apart` as they are (KYMO_NONE: none). */
/* Makes the CPU samples' weights, whose sum is from_ns, add up to to_ns, which is less. */
void kymo_sample_columns_scale(kymo_sample_columns *samples, uint32_t apart, uint64_t from_ns,
                               uint64_t to_ns);
/* Gives the CPU samples of each run of `window` or more neighbours the same weight; their sum stays
 * what it was. Sorted samples only. For ingest. */
void kymo_sample_columns_even_out(kymo_sample_columns *samples, uint32_t apart, size_t window);
void kymo_sample_columns_deinit(kymo_sample_columns *samples);
/* schema_table.c: whether they are the same, names apart. */
int kymo_schema_is_same(const kymo_schema *a, const kymo_schema *b);
/* marker_table.c and counter_table.c: for finish and destroy. */
KYMO_NODISCARD
kymo_err kymo_marker_rows_sort(kymo_marker_rows *markers);
KYMO_NODISCARD
kymo_err kymo_count_columns_sort(kymo_count_columns *counts);
void kymo_count_columns_deinit(kymo_count_columns *counts);
/* allocation_table.c, mapping_table.c, ledger_table.c: for finish. */
KYMO_NODISCARD
kymo_err kymo_allocation_rows_sort(kymo_allocation_rows *allocations);
void kymo_mapping_rows_sort(kymo_mapping_rows *mappings);
KYMO_NODISCARD
kymo_err kymo_profile_sort_ledger(kymo_profile *profile);
/* frame_table.c: copies lines, symbol and name from another frame of the same place in the same
 * file. */
KYMO_NODISCARD
kymo_err kymo_profile_frame_share_lines(kymo_profile *profile, uint32_t frame, uint32_t from);
/* value_table.c: whether all that a value refers to exists. A list may not contain a list. */
int kymo_profile_has_value(const kymo_profile *profile, const kymo_value *value);

#endif
