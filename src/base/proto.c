/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

void kymo_proto_deinit(kymo_proto *message)
{
    free(message->data);
    memset(message, 0, sizeof *message);
}

static unsigned char *grow(kymo_proto *m, size_t extra)
{
    size_t cap = m->cap * 2 < 256 ? 256 : m->cap * 2;
    if (m->failed || extra > SIZE_MAX / 2 - m->len)
        goto fail;
    if (cap < m->len + extra)
        cap = m->len + extra;
    unsigned char *data = realloc(m->data, cap);
    if (!data)
        goto fail;
    m->data = data;
    m->cap = cap;
    return data + m->len;
fail:
    m->failed = 1;
    return NULL;
}

static inline unsigned char *room(kymo_proto *m, size_t extra)
{
    return kymo_likely(extra <= m->cap - m->len && m->data) ? m->data + m->len : grow(m, extra);
}

void kymo_proto_varint(kymo_proto *message, uint64_t value)
{
    unsigned char *p = room(message, KYMO_VARINT_MAX);
    if (!p)
        return;
    while (value >= 0x80) {
        *p++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *p++ = (unsigned char)value;
    message->len = (size_t)(p - message->data);
}

void kymo_proto_u64(kymo_proto *message, unsigned field, uint64_t value)
{
    if (value != 0)
        kymo_proto_member(message, field, value);
}

void kymo_proto_member(kymo_proto *message, unsigned field, uint64_t value)
{
    kymo_proto_varint(message, field << 3 | WIRE_VARINT);
    kymo_proto_varint(message, value);
}

void kymo_proto_fixed64(kymo_proto *message, unsigned field, uint64_t value)
{
    kymo_proto_varint(message, field << 3 | WIRE_FIXED64);
    unsigned char *p = room(message, sizeof value);
    if (!p)
        return;
    for (size_t i = 0; i < sizeof value; i++)
        p[i] = (unsigned char)(value >> 8 * i);
    message->len += sizeof value;
}

void kymo_proto_bytes(kymo_proto *message, unsigned field, const void *data, size_t len)
{
    kymo_proto_varint(message, field << 3 | WIRE_BYTES);
    kymo_proto_varint(message, len);
    unsigned char *p = room(message, len);
    if (!p || len == 0)
        return;
    memcpy(p, data, len);
    message->len += len;
}

void kymo_proto_message(kymo_proto *message, unsigned field, const kymo_proto *inner)
{
    message->failed |= inner->failed;
    kymo_proto_bytes(message, field, inner->data, inner->len);
}

void kymo_proto_packed(kymo_proto *message, unsigned field, const kymo_proto *list)
{
    message->failed |= list->failed;
    if (list->len > 0)
        kymo_proto_bytes(message, field, list->data, list->len);
}

void kymo_proto_raw(kymo_proto *message, const kymo_proto *fields)
{
    unsigned char *p = room(message, fields->len);
    message->failed |= fields->failed;
    if (!p || fields->len == 0)
        return;
    memcpy(p, fields->data, fields->len);
    message->len += fields->len;
}

kymo_err kymo_proto_flush(kymo_proto *message, kymo_sink *sink)
{
    if (message->failed)
        return KYMO_E_NOMEM;
    if (message->len > 0)
        KYMO_TRY(kymo_sink_write(sink, message->data, message->len));
    message->len = 0;
    return KYMO_OK;
}
