/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_field.h - where the fields of a type lie in its payload.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     kymo/marker_abi.h -> [fields] -> capture/ that writes payloads; drain, reader, ingest
 * Signals:  safe
 *
 * A payload is a C structure whose members are the fields in their order, so offsets follow from
 * sizes and alignments and are not stored.
 */
#ifndef KYMO_BUFFER_MARK_FIELD_H
#define KYMO_BUFFER_MARK_FIELD_H

#include <stdint.h>

#include "base/attr.h"
#include "kymo/marker_abi.h"

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

KYMO_SIGNAL_SAFE static inline uint32_t kymo_mark_kind_bytes(uint32_t kind)
{
    static const uint8_t bytes[KYMO_KIND_COUNT] = {0,
#define X(name, NAME, type, size, alignment) size,
                                                   KYMO_MARK_KINDS(X)
#undef X
    };
    return kind < KYMO_KIND_COUNT ? bytes[kind] : 0;
}

KYMO_SIGNAL_SAFE static inline uint32_t kymo_mark_kind_alignment(uint32_t kind)
{
    uint32_t bytes = kymo_mark_kind_bytes(kind);
    return bytes < 8 ? bytes : 8;
}

/* Whether a record has a struct kymo_text_slot in its place. */
KYMO_SIGNAL_SAFE static inline int kymo_mark_kind_is_slot(uint32_t kind)
{
    return kind == KYMO_KIND_LITERAL || kind == KYMO_KIND_STR || kind == KYMO_KIND_TEXT ||
           kind == KYMO_KIND_UTF16 || kind == KYMO_KIND_CELLS;
}

/* The place of the next field, of this kind. */
KYMO_SIGNAL_SAFE static inline uint32_t kymo_mark_layout_next(struct kymo_mark_layout *layout,
                                                              uint32_t kind)
{
    uint32_t alignment = kymo_mark_kind_alignment(kind);
    uint32_t at = (layout->at + alignment - 1) & ~(alignment - 1);
    layout->at = at + kymo_mark_kind_bytes(kind);
    if (layout->alignment < alignment)
        layout->alignment = alignment;
    return at;
}

/* Whether a structure of these fields has this size: as the compiler makes it, or in whole words,
 * as marker.h has it made. */
KYMO_SIGNAL_SAFE static inline int kymo_mark_layout_has(const struct kymo_mark_layout *layout,
                                                        uint32_t bytes)
{
    uint32_t end = (layout->at + layout->alignment - 1) & ~(layout->alignment - 1);
    return bytes == end || bytes == ((end + 7) & ~7u);
}

#define X(name, NAME, type, size, alignment)                                        \
    _Static_assert(sizeof(type) == (size) && _Alignof(type) == (alignment), #name); \
    _Static_assert((alignment) == ((size) < 8 ? (size) : 8), #name);
KYMO_MARK_KINDS(X)
#undef X

#endif
