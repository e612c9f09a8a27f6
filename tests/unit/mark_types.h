/* SPDX-License-Identifier: Apache-2.0 */
/* mark_types.h - types for tests of payloads, and the texts in their records. */
#ifndef KYMO_TESTS_MARK_TYPES_H
#define KYMO_TESTS_MARK_TYPES_H

#include "mark_process.h"

#define FIELD(key, kind)                                      \
    {                                                         \
        key, NULL, KYMO_KIND_##kind, KYMO_FORMAT_STRING, 0, 0 \
    }
#define TYPE(fields_, T)                                                           \
    {                                                                              \
        .size = sizeof(struct kymo_mark_type), .name = "Type", .file = "here",     \
        .fields = (fields_), .field_count = KYMO_ARRAY_LEN(fields_),               \
        .field_bytes = sizeof(struct kymo_mark_field), .payload_bytes = sizeof(T), \
    }

static inline struct kymo_text_slot slot_at(const struct mark *m, uint32_t at)
{
    struct kymo_text_slot slot;
    assert_true(at + sizeof slot <= m->rest_bytes);
    memcpy(&slot, m->rest + at, sizeof slot);
    return slot;
}

static inline void assert_text(const struct mark *m, struct kymo_text_slot slot, const char *text,
                               size_t len, uint32_t flags)
{
    assert_int_equal(slot.flags, KYMO_TEXT_IS_THERE | flags);
    assert_int_equal(slot.len, len);
    assert_true(slot.at + slot.len <= m->rest_bytes);
    assert_memory_equal(m->rest + slot.at, text, len);
}

#endif
