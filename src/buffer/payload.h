/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.h - checks what a marker carries, as the drain and the reader of recordings get it.
 *
 * Layer:    buffer (cold)
 * Flow:     drain_marks.c, recording/recording_decode_payload.c -> [payload]
 * Threads:  one owner at a time
 * Memory:   the payload is the caller's, 8-byte aligned, and changed
 * Signals:  not for handlers
 *
 *   image of the type's C structure        what its slots speak of
 *   ┌────────┬───────────┬────────────┐┌────────────────┬───────┬────────────┐
 *   │ number │ text slot │ cells slot ││ bytes of a text│ cells │ their texts│
 *   └────────┴───────────┴────────────┘└────────────────┴───────┴────────────┘
 *
 * A site without a type has cells or the slot of one text in the place of the image.
 */
#ifndef KYMO_BUFFER_PAYLOAD_H
#define KYMO_BUFFER_PAYLOAD_H

#include "base/error.h"
#include "base/vec.h"
#include "buffer/mark_field.h"
#include "buffer/record.h"

/* What lies in front of the texts and lists. */
struct kymo_payload_image {
    uint32_t bytes; /* of a type's structure */
    uint32_t first; /* of its places, among those of all types */
    uint32_t count;
    uint32_t cells; /* or so many from the start on */
    int is_text;    /* or the slot of one text */
};

/* Of all types, the fields that are checked: texts, lists and times. */
typedef KYMO_VEC(struct kymo_mark_place) kymo_payload_places;

struct kymo_payload {
    unsigned char *bytes;
    uint32_t len;
    const kymo_payload_places *places;
    void *context;
    /* Whether there is a literal of this number, which may be changed; may add to places. */
    kymo_err (*literal)(void *context, uint32_t *number, int *is_known);
    uint64_t (*time_ns)(void *context, uint64_t time); /* NULL: times stay as they are */
    /* What was made absent: slots that lead outside, unknown literals, cells of no kind of cells.
     */
    uint32_t values, references, cells;
    /* For the check: where the next cells may begin, and bytes that texts may still have. */
    size_t cells_from, text_left;
};

/* Adds the next field of a type, of a known kind, to its image and its place to places. */
KYMO_NODISCARD
kymo_err kymo_payload_add_field(kymo_payload_places *places, struct kymo_payload_image *type,
                                struct kymo_mark_layout *layout, uint32_t kind);
/* What markers of a site have, of this kind and type (NULL: none) and with so many cells. 0: no
 * payload. */
int kymo_payload_image_of(uint32_t site_kind, const struct kymo_payload_image *type, uint32_t cells,
                          struct kymo_payload_image *image);
/* Makes absent what leads nowhere. Slots are changed, so no two of them may share a byte: cells lie
 * behind the image, and behind the cells of the field before. Texts are only read, but become as
 * many bytes of a profile: together they are no longer than what is behind the image. *fits: 0 if
 * the payload is shorter than its image. */
KYMO_NODISCARD
kymo_err kymo_payload_check(struct kymo_payload *payload, const struct kymo_payload_image *image,
                            int *fits);

/* The bytes of so many as the slot says, of size_of_one each; NULL: absent, outside, or a
 * literal's. */
static inline const unsigned char *kymo_payload_at(const unsigned char *bytes, size_t len,
                                                   const struct kymo_text_slot *slot,
                                                   size_t size_of_one)
{
    if ((slot->flags & (KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL)) != KYMO_TEXT_IS_THERE ||
        slot->at > len || slot->len > (len - slot->at) / size_of_one)
        return NULL;
    return bytes + slot->at;
}

#endif
