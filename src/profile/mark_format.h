/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_format.h - formats recorded arguments as printf does.
 *
 * Layer:    profile
 * Flow:     ingest_payload.c -> [mark_format] -> text of a marker
 * Threads:  any; it has no state
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * The format and the arguments come from a file, so neither is trusted: each argument carries its
 * kind, and is shown by that if the conversion is for another kind. A conversion that is unknown,
 * or has no argument, is shown as text. %n writes nothing.
 */
#ifndef KYMO_PROFILE_MARK_FORMAT_H
#define KYMO_PROFILE_MARK_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "kymo/profile.h"

struct kymo_format_arg {
    kymo_value_kind kind; /* I64, U64, F64, POINTER, STRING; any other is a text that is NULL */
    int is_cut;           /* the text is the beginning of a longer one */
    union {
        int64_t i64;
        uint64_t u64; /* also of a pointer */
        double f64;
        const char *text; /* of len bytes */
    } as;
    size_t len;
};

/* Appended to a text that was cut. */
#define KYMO_TEXT_CUT "\xe2\x80\xa6"

/* Limit of a width or precision. */
#define KYMO_FORMAT_WIDTH_MAX 256
/* Limit of arguments: more than fit into a record. */
#define KYMO_FORMAT_ARGS_MAX 256u

/* Writes at most cap bytes without a NUL, and returns how many. The output is valid UTF-8 if the
 * format and the texts are. Output that does not fit is cut after a whole character, and *is_cut
 * is then 1. */
size_t kymo_mark_format(char *out, size_t cap, const char *format,
                        const struct kymo_format_arg *args, uint32_t count, int *is_cut);

#endif
