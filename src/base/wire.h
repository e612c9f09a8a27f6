/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - takes protocol buffer messages apart.
 *
 * Layer:    base
 * Flow:     bytes of a message -> [wire] -> read_pprof*.c, answers of servers
 * Threads:  any
 * Memory:   borrows the bytes
 * Signals:  not for handlers
 */
#ifndef KYMO_BASE_WIRE_H
#define KYMO_BASE_WIRE_H

#include "base/reader.h"

typedef enum kymo_wire_type {
    KYMO_WIRE_VARINT = 0,
    KYMO_WIRE_FIXED64 = 1,
    KYMO_WIRE_BYTES = 2, /* text, a message, or a packed list */
    KYMO_WIRE_FIXED32 = 5,
} kymo_wire_type;

typedef struct kymo_wire_field {
    uint64_t number;
    unsigned type;
    uint64_t value;    /* of all types but BYTES */
    kymo_reader bytes; /* of BYTES */
} kymo_wire_field;

/* The next field: 1; 0 at the end, and where `message` has failed. */
static inline int kymo_wire_next(kymo_reader *message, kymo_wire_field *field)
{
    if (message->at == message->end)
        return 0;
    uint64_t key = kymo_read_uleb(message);
    *field = (kymo_wire_field){.number = key >> 3, .type = (unsigned)key & 7};
    switch (field->type) {
    case KYMO_WIRE_VARINT:
        field->value = kymo_read_uleb(message);
        break;
    case KYMO_WIRE_FIXED64:
        field->value = kymo_read_u64(message);
        break;
    case KYMO_WIRE_FIXED32:
        field->value = kymo_read_u32(message);
        break;
    case KYMO_WIRE_BYTES: {
        uint64_t len = kymo_read_uleb(message);
        const void *bytes = kymo_read_bytes(message, len);
        if (bytes)
            field->bytes = kymo_reader_of(bytes, (size_t)len);
        break;
    }
    default:
        kymo_reader_fail(message);
    }
    if (field->number == 0)
        kymo_reader_fail(message);
    return !message->failed;
}

/* Of a repeated number, whether it is packed or not: the next one of this field. */
static inline int kymo_wire_number(kymo_wire_field *field, uint64_t *value)
{
    if (field->type == KYMO_WIRE_BYTES) {
        if (field->bytes.at == field->bytes.end)
            return 0;
        *value = kymo_read_uleb(&field->bytes);
        return !field->bytes.failed;
    }
    int is_first = field->type == KYMO_WIRE_VARINT;
    *value = field->value;
    field->type = KYMO_WIRE_FIXED32; /* there is no second one */
    return is_first;
}

#endif
