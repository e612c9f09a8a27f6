/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - reads files of other profilers as profiles.
 *
 * Flow:     pprof, JFR, collapsed stacks, Firefox profiles -> [import] -> profile.h
 *           -> encode.h, report.h
 * Threads:  any; each call stands for itself
 * Memory:   the caller owns the profile that it gets. A call takes at most 512 MiB, the profile
 *           included
 * Signals:  not for handlers
 *
 * The format is found by the content, also of files that are compressed by gzip; names do not
 * matter. A file is read as a whole or not at all: any damage is an error, which says where it is.
 * doc/imports.md says what each part of a file becomes. A recording of Kymo is read by
 * kymo/recording.h.
 */
#ifndef KYMO_IMPORT_H
#define KYMO_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "kymo/error.h"
#include "kymo/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A format that is read. Static storage. */
typedef struct kymo_import_format {
    const char *name;  /* as kymo_meta.format has it: "pprof" */
    const char *title; /* for people: "a pprof profile" */
} kymo_import_format;

/* The row of the table from 0 on, NULL beyond its end. */
KYMO_API const kymo_import_format *kymo_import_format_at(size_t index);
/* The format of a file that begins with these bytes; NULL: none of the table. The first 4096 bytes
 * are enough. */
KYMO_API const kymo_import_format *kymo_import_format_of(const void *head, size_t len);
/* The same of what would be read from a file or a pipe, of which nothing is taken. NULL also for
 * what cannot be read twice: a socket, a terminal. */
KYMO_API const kymo_import_format *kymo_import_format_of_fd(int fd);

/* Reads a file; "-" is standard input. On success *out is a finished profile, to be destroyed with
 * kymo_profile_destroy; on failure it is not touched, and *detail (may be NULL) says where and why:
 *   KYMO_E_NOT_FOUND, KYMO_E_PERMISSION, KYMO_E_IO   the file cannot be opened or read
 *   KYMO_E_UNSUPPORTED  it has none of these formats, or something that a profile has not
 *   KYMO_E_CORRUPT      it is damaged
 *   KYMO_E_TRUNCATED    its end is missing
 *   KYMO_E_TOO_BIG      it needs more memory than the limit, or has more than a profile holds
 *   KYMO_E_NOMEM */
KYMO_API kymo_err kymo_import_file(const char *path, kymo_profile **out, kymo_error *detail);
/* The same from a descriptor, up to its end. */
KYMO_API kymo_err kymo_import_fd(int fd, kymo_profile **out, kymo_error *detail);
/* The same from memory, which may be freed afterwards. */
KYMO_API kymo_err kymo_import_memory(const void *data, size_t len, kymo_profile **out,
                                     kymo_error *detail);

#ifdef __cplusplus
}
#endif

#endif
