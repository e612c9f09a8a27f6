/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h - builds protocol buffer messages.
 *
 * Layer:    base (cold half only)
 * Flow:     encoders, reporters -> [proto] -> sink
 * Threads:  one owner at a time
 * Memory:   each message owns its buffer, which it keeps when it is cleared
 * Signals:  not for handlers
 *
 * A message inside another is built separately and copied in, since its length comes first.
 * `failed` stays set after an allocation failed, so a caller may add many fields and check once. As
 * in proto3, a number field of value 0 is not written.
 */
#ifndef KYMO_BASE_PROTO_H
#define KYMO_BASE_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define KYMO_VARINT_MAX 10

typedef struct kymo_proto {
    unsigned char *data;
    size_t len;
    size_t cap;
    int failed;
} kymo_proto;

/* A message of zero bytes is valid and empty. */
void kymo_proto_deinit(kymo_proto *message);
static inline void kymo_proto_clear(kymo_proto *message)
{
    message->len = 0;
}

/* A number without a tag, as in a packed list. */
void kymo_proto_varint(kymo_proto *message, uint64_t value);
void kymo_proto_u64(kymo_proto *message, unsigned field, uint64_t value);
/* Writes a 0, too: as a member of a oneof, it would be missing otherwise. */
void kymo_proto_member(kymo_proto *message, unsigned field, uint64_t value);
/* So does this. */
void kymo_proto_fixed64(kymo_proto *message, unsigned field, uint64_t value);
void kymo_proto_bytes(kymo_proto *message, unsigned field, const void *data, size_t len);
void kymo_proto_message(kymo_proto *message, unsigned field, const kymo_proto *inner);
/* A packed list of varints; nothing if it is empty. */
void kymo_proto_packed(kymo_proto *message, unsigned field, const kymo_proto *list);

/* Appends the fields of another message. */
void kymo_proto_raw(kymo_proto *message, const kymo_proto *fields);

/* Writes the message to the sink and clears it. */
KYMO_NODISCARD
kymo_err kymo_proto_flush(kymo_proto *message, kymo_sink *sink);

#endif
