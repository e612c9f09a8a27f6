/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_field.h - the kinds of fields that markers have: what each is, and where it lies in a
 * payload.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     kymo/marker_abi.h -> [kinds] -> capture/ that writes payloads; drain, reader, ingest
 * Signals:  safe
 *
 * A new kind of field is a row of KYMO_MARK_KINDS (its C type) and one of KYMO_MARK_KIND_FACTS.
 *
 * A payload is a C structure whose members are the fields in their order, so offsets follow from
 * sizes and alignments and are not stored.
 */
#ifndef KYMO_BUFFER_MARK_FIELD_H
#define KYMO_BUFFER_MARK_FIELD_H

#include <stdint.h>

#include "base/attr.h"
#include "kymo/marker_abi.h"
#include "kymo/profile.h"

/* ---- kinds ---- */

/* X(NAME, enum kymo_value_kind that it becomes, what it is as a cell, format when none was asked
 * for, formats that can show it). A number or an address is no flow, though a flow may be made of
 * one: only that tells it from another process's. */
#define KYMO_MARK_KIND_FACTS(X)                 \
    X(BOOL, BOOL, NONE, INTEGER, NUMBERS)       \
    X(I8, I64, NONE, INTEGER, NUMBERS)          \
    X(U8, U64, NONE, INTEGER, NUMBERS)          \
    X(I16, I64, NONE, INTEGER, NUMBERS)         \
    X(U16, U64, NONE, INTEGER, NUMBERS)         \
    X(I32, I64, NONE, INTEGER, NUMBERS)         \
    X(U32, U64, NONE, INTEGER, NUMBERS)         \
    X(I64, I64, NUMBER, INTEGER, NUMBERS)       \
    X(U64, U64, NUMBER, INTEGER, NUMBERS)       \
    X(F32, F64, NONE, DECIMAL, NUMBERS)         \
    X(F64, F64, NUMBER, DECIMAL, NUMBERS)       \
    X(LITERAL, STRING, NONE, STRING, TEXTS)     \
    X(STR, STRING, TEXT, STRING, TEXTS)         \
    X(TEXT, STRING, TEXT, STRING, TEXTS)        \
    X(UTF16, STRING, NONE, STRING, TEXTS)       \
    X(TIME, TIME, NONE, TIME, SPANS | WHOLE)    \
    X(NS, NS, NONE, DURATION, SPANS | WHOLE)    \
    X(PTR, POINTER, NUMBER, HEXADECIMAL, WHOLE) \
    X(FLOW, FLOW, NONE, FLOW_ID, FLOWS)         \
    X(CELLS, LIST, NONE, LIST, CELLS)           \
    X(OPT_I64, I64, NONE, INTEGER, NUMBERS)     \
    X(OPT_U64, U64, NONE, INTEGER, NUMBERS)     \
    X(OPT_F64, F64, NONE, DECIMAL, NUMBERS)

enum kymo_mark_cell_form {
    KYMO_CELL_NONE = 0, /* cells are not of this kind */
    KYMO_CELL_NUMBER,
    KYMO_CELL_TEXT, /* a struct kymo_text_slot, in a record */
};

struct kymo_mark_kind_facts {
    uint8_t bytes; /* 0: there is no such kind */
    uint8_t value; /* enum kymo_value_kind */
    uint8_t cell;  /* enum kymo_mark_cell_form */
    uint8_t format;
    uint32_t formats; /* bits */
};

#define KYMO_SHOWN_BIT(format) (1u << KYMO_FORMAT_##format)

_Static_assert(KYMO_FORMAT_COUNT <= 32, "a format is a bit");

KYMO_SIGNAL_SAFE static inline const struct kymo_mark_kind_facts *kymo_mark_kind(uint32_t kind)
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
    static const struct kymo_mark_kind_facts facts[KYMO_KIND_COUNT] = {
#define X(name, NAME, type, size, alignment) [KYMO_KIND_##NAME].bytes = (size),
        KYMO_MARK_KINDS(X)
#undef X
#define X(NAME, VALUE, CELL, FORMAT, FORMATS)                                                  \
    [KYMO_KIND_##NAME].value = KYMO_VALUE_##VALUE, [KYMO_KIND_##NAME].cell = KYMO_CELL_##CELL, \
    [KYMO_KIND_##NAME].format = KYMO_FORMAT_##FORMAT, [KYMO_KIND_##NAME].formats = (FORMATS),
            KYMO_MARK_KIND_FACTS(X)
#undef X
    };
    return &facts[kind < KYMO_KIND_COUNT ? kind : KYMO_KIND_NONE];
}

#define X(name, NAME, type, size, alignment)                                        \
    _Static_assert(sizeof(type) == (size) && _Alignof(type) == (alignment), #name); \
    _Static_assert((alignment) == ((size) < 8 ? (size) : 8), #name);
KYMO_MARK_KINDS(X)
#undef X

#define X(NAME, VALUE, CELL, FORMAT, FORMATS) +1
_Static_assert(KYMO_MARK_KIND_FACTS(X) == KYMO_KIND_COUNT - 1, "each kind has its facts");
#undef X

KYMO_SIGNAL_SAFE static inline uint32_t kymo_mark_kind_bytes(uint32_t kind)
{
    return kymo_mark_kind(kind)->bytes;
}

KYMO_SIGNAL_SAFE static inline int kymo_mark_kind_is_text(uint32_t kind)
{
    return kymo_mark_kind(kind)->value == KYMO_VALUE_STRING;
}

/* Whether a record has a struct kymo_text_slot in its place. */
KYMO_SIGNAL_SAFE static inline int kymo_mark_kind_is_slot(uint32_t kind)
{
    return kymo_mark_kind_is_text(kind) || kind == KYMO_KIND_CELLS;
}

/* enum kymo_mark_cell_form of the cells, and of the values of labels, that have this kind. */
KYMO_SIGNAL_SAFE static inline uint32_t kymo_mark_cell_form(uint32_t kind)
{
    return kymo_mark_kind(kind)->cell;
}

/* ---- places ---- */

/* A field in the image of the C structure. */
struct kymo_mark_place {
    uint32_t kind; /* enum kymo_mark_kind */
    uint32_t at;   /* bytes from the payload's start */
};

struct kymo_mark_layout {
    uint32_t at;
    uint32_t alignment;
};
#define KYMO_MARK_LAYOUT_BEGIN \
    {                          \
        0, 1                   \
    }

KYMO_SIGNAL_SAFE static inline const struct kymo_mark_field *kymo_mark_field_at(
    const struct kymo_mark_type *type, uint32_t i)
{
    return (const struct kymo_mark_field *)(const void *)((const char *)type->fields +
                                                          (size_t)i * type->field_bytes);
}

/* The place of the next field, of this kind. */
KYMO_SIGNAL_SAFE static inline struct kymo_mark_place kymo_mark_layout_next(
    struct kymo_mark_layout *layout, uint32_t kind)
{
    uint32_t bytes = kymo_mark_kind_bytes(kind);
    uint32_t alignment = bytes < 8 ? bytes : 8;
    uint32_t at = (layout->at + alignment - 1) & ~(alignment - 1);
    layout->at = at + bytes;
    if (layout->alignment < alignment)
        layout->alignment = alignment;
    return (struct kymo_mark_place){kind, at};
}

/* Whether a structure of these fields has this size: as the compiler makes it, or in whole words,
 * as marker.h has it made. One of nothing has no size in C, and some in C++. */
KYMO_SIGNAL_SAFE static inline int kymo_mark_layout_has(const struct kymo_mark_layout *layout,
                                                        uint32_t bytes)
{
    uint32_t end = (layout->at + layout->alignment - 1) & ~(layout->alignment - 1);
    return bytes == end || bytes == ((end + 7) & ~7u) || (end == 0 && bytes <= sizeof(uint64_t));
}

#endif
