/* SPDX-License-Identifier: Apache-2.0 */
/*
 * importer.h - what every reader of a format works with: the bytes, the profile, its limit and its
 * errors.
 *
 * Layer:    import
 * Flow:     input.c -> bytes -> pprof/, jfr/, collapsed/, firefox/ -> [importer] -> kymo_profile
 * Threads:  one owner at a time
 * Memory:   tables of a reader are in the importer's arena, which ends with it
 * Signals:  not for handlers
 */
#ifndef KYMO_IMPORT_IMPORTER_H
#define KYMO_IMPORT_IMPORTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/vec.h"
#include "kymo/import.h"

/* Input, tables of the reader and the profile together. What vectors leave unused while they grow
 * stays below 512 MiB with it. */
#define KYMO_IMPORT_BYTES_MAX ((size_t)384 << 20)
/* Frames of one stack. */
#define KYMO_IMPORT_DEPTH_MAX (1u << 20)

/* A thread of the profile, and how far its samples have come: many formats have no times. */
typedef struct kymo_imported_thread {
    int32_t pid, tid;
    uint32_t name;   /* string */
    uint32_t thread; /* id in the profile */
    uint64_t weight; /* sum over its samples so far */
} kymo_imported_thread;

typedef struct kymo_importer {
    const char *data; /* the uncompressed file */
    size_t len;
    kymo_profile *profile;
    const char *format; /* as kymo_import_format.name */
    kymo_error *detail;
    kymo_arena arena;
    size_t charged; /* bytes of a reader that are not in the arena */
    size_t rows;    /* added since memory was looked at */
    KYMO_VEC(kymo_imported_thread) threads;
    kymo_index thread_index;
    KYMO_VEC(int32_t) pids; /* of the processes of the profile, by id */
    kymo_index process_index;
} kymo_importer;

/* One for each format; on success the profile has all of it. */
typedef kymo_err kymo_format_read(kymo_importer *importer);
/* Whether a file begins like this. */
typedef int kymo_format_is(const char *head, size_t len);

/* Reads uncompressed data in this format, whatever its first bytes say. */
KYMO_NODISCARD
kymo_err kymo_import_as(const kymo_import_format *format, const void *data, size_t len,
                        kymo_profile **out, kymo_error *detail);

kymo_format_is kymo_pprof_is;
kymo_format_read kymo_pprof_read;
kymo_format_is kymo_jfr_is;
kymo_format_read kymo_jfr_read;
kymo_format_is kymo_firefox_is;
kymo_format_read kymo_firefox_read;
kymo_format_is kymo_collapsed_is;
kymo_format_read kymo_collapsed_read;

/* Each sets the detail, with the place in the data, what is wrong, and what to do. They return
 * KYMO_E_CORRUPT, KYMO_E_TRUNCATED, KYMO_E_UNSUPPORTED. */
kymo_err kymo_import_fault(kymo_importer *importer, uint64_t position, const char *fmt, ...)
    KYMO_PRINTF(3, 4);
kymo_err kymo_import_cut(kymo_importer *importer);
kymo_err kymo_import_unsupported(kymo_importer *importer, uint64_t position, const char *fmt, ...)
    KYMO_PRINTF(3, 4);

/* To be called for each row that is added: KYMO_E_TOO_BIG once the limit is reached. */
KYMO_NODISCARD
kymo_err kymo_import_check_room(kymo_importer *importer);
/* An array of zeros that lives as long as the importer. */
KYMO_NODISCARD
kymo_err kymo_import_table(kymo_importer *importer, size_t count, size_t size, void *table);

/* Bytes that a reader takes itself, before it takes them, and when it has given them back. */
KYMO_NODISCARD
kymo_err kymo_import_charge(kymo_importer *importer, size_t bytes);
void kymo_import_uncharge(kymo_importer *importer, size_t bytes);

/* A string, cut and made valid as the profile does. */
KYMO_NODISCARD
kymo_err kymo_import_string(kymo_importer *importer, const char *text, size_t len,
                            uint32_t *string);
/* A function of these strings; file 0 (""): not known. */
KYMO_NODISCARD
kymo_err kymo_import_function(kymo_importer *importer, const kymo_function *function, uint32_t file,
                              uint32_t *id);
/* The frame called by a stack. */
KYMO_NODISCARD
kymo_err kymo_import_stack(kymo_importer *importer, uint32_t parent, uint32_t frame,
                           uint32_t *stack);

/* The build-id that a text of hexadecimal digits is; any other text leaves the module without. */
void kymo_import_build_id(kymo_module *module, const char *text, size_t len);
/* A name for a sample type that none of the count before has: `name`, or "NAME (2)". */
KYMO_NODISCARD
kymo_err kymo_import_type_name(kymo_importer *importer, const kymo_sample_type *types,
                               uint32_t count, const char **name);

/* The process of a pid; name (may be NULL) is that of a new one. */
KYMO_NODISCARD
kymo_err kymo_import_process(kymo_importer *importer, int32_t pid, const char *name, uint32_t *id);
/* The thread of this pid, tid and name (a string), as its place in importer->threads. */
KYMO_NODISCARD
kymo_err kymo_import_thread(kymo_importer *importer, int32_t pid, int32_t tid, uint32_t name,
                            uint32_t *place);

#endif
