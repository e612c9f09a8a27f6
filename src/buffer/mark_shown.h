/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_shown.h - which formats can show the values of a kind.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     kymo/marker_abi.h -> [shown] -> capture/ that refuses types, ingest that puts them
 * right Signals:  safe
 */
#ifndef KYMO_BUFFER_MARK_SHOWN_H
#define KYMO_BUFFER_MARK_SHOWN_H

#include <stdint.h>

#include "base/attr.h"
#include "kymo/marker_abi.h"

#define KYMO_SHOWN_BIT(format) (1u << KYMO_FORMAT_##format)

_Static_assert(KYMO_FORMAT_COUNT <= 32, "a format is a bit");

/* Bits by format; 0 for what is no kind. A number or an address is no flow, though a flow may be
 * made of one: only that tells it from another process's. */
KYMO_SIGNAL_SAFE static inline uint32_t kymo_mark_formats_of(uint32_t kind)
{
#define BIT(format) KYMO_SHOWN_BIT(format)
    enum {
        SPANS = BIT(DURATION) | BIT(TIME) | BIT(SECONDS) | BIT(MILLISECONDS) | BIT(MICROSECONDS) |
                BIT(NANOSECONDS),
        TEXTS = BIT(URL) | BIT(FILE_PATH) | BIT(SANITIZED_STRING) | BIT(STRING) |
                BIT(UNIQUE_STRING) | BIT(PID) | BIT(TID),
        WHOLE = BIT(STRING) | BIT(INTEGER) | BIT(DECIMAL) | BIT(HEXADECIMAL),
        NUMBERS = WHOLE | SPANS | BIT(BYTES) | BIT(PERCENTAGE) | BIT(PID) | BIT(TID),
        FLOWS = WHOLE | BIT(FLOW_ID) | BIT(TERMINATING_FLOW_ID),
        CELLS = BIT(LIST) | BIT(TABLE),
    };
#undef BIT
    static const uint32_t formats[KYMO_KIND_COUNT] = {
        [KYMO_KIND_BOOL] = NUMBERS,     [KYMO_KIND_I8] = NUMBERS,
        [KYMO_KIND_U8] = NUMBERS,       [KYMO_KIND_I16] = NUMBERS,
        [KYMO_KIND_U16] = NUMBERS,      [KYMO_KIND_I32] = NUMBERS,
        [KYMO_KIND_U32] = NUMBERS,      [KYMO_KIND_I64] = NUMBERS,
        [KYMO_KIND_U64] = NUMBERS,      [KYMO_KIND_F32] = NUMBERS,
        [KYMO_KIND_F64] = NUMBERS,      [KYMO_KIND_LITERAL] = TEXTS,
        [KYMO_KIND_STR] = TEXTS,        [KYMO_KIND_TEXT] = TEXTS,
        [KYMO_KIND_UTF16] = TEXTS,      [KYMO_KIND_TIME] = SPANS | WHOLE,
        [KYMO_KIND_NS] = SPANS | WHOLE, [KYMO_KIND_PTR] = WHOLE,
        [KYMO_KIND_FLOW] = FLOWS,       [KYMO_KIND_CELLS] = CELLS,
        [KYMO_KIND_OPT_I64] = NUMBERS,  [KYMO_KIND_OPT_U64] = NUMBERS,
        [KYMO_KIND_OPT_F64] = NUMBERS,
    };
    return kind < KYMO_KIND_COUNT ? formats[kind] : 0;
}

#endif
