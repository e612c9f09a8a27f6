/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_format.h - text as printf makes it, of arguments that were recorded.
 *
 * Layer:    profile
 * Flow:     ingest_payload.c -> [mark_format] -> text of a marker
 * Threads:  any; it has no state
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * The format and the arguments come from a file, so nothing is taken for granted: an argument says
 * itself what it is, and is shown as that if the conversion is for something else; a conversion
 * without an argument, and one that is not known, are shown as they are. %n writes nowhere.
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

/* Stands where a text was cut. */
#define KYMO_TEXT_CUT "\xe2\x80\xa6"

/* Wider and more precise than a reader needs: beyond it, a width or precision is this. */
#define KYMO_FORMAT_WIDTH_MAX 256
/* More arguments than a record has room for. */
#define KYMO_FORMAT_ARGS_MAX 256u

/* Writes at most cap bytes, which are as valid as the format and the texts are, and are not
 * terminated; returns how many. What does not fit is left out from where a character begins, and
 * *is_cut is then 1. */
size_t kymo_mark_format(char *out, size_t cap, const char *format,
                        const struct kymo_format_arg *args, uint32_t count, int *is_cut);

#endif
