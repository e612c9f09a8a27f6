/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

static kymo_err bytes_write(kymo_sink *sink, const void *data, size_t len)
{
    return kymo_bytes_append((kymo_bytes *)sink, data, len);
}

void kymo_bytes_init(kymo_bytes *bytes, size_t limit)
{
    memset(bytes, 0, sizeof *bytes);
    bytes->sink.write = bytes_write;
    bytes->limit = limit;
}

void kymo_bytes_deinit(kymo_bytes *bytes)
{
    free(bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

void kymo_bytes_clear(kymo_bytes *bytes)
{
    bytes->len = 0;
}

kymo_err kymo_bytes_append(kymo_bytes *bytes, const void *data, size_t len)
{
    if (len > bytes->limit || bytes->len > bytes->limit - len)
        return KYMO_E_TOO_BIG;
    if (len > bytes->cap - bytes->len) {
        size_t cap = bytes->cap < 256 ? 256 : bytes->cap * 2;
        if (cap < bytes->len + len)
            cap = bytes->len + len;
        unsigned char *grown = realloc(bytes->data, cap);
        if (!grown)
            return KYMO_E_NOMEM;
        bytes->data = grown;
        bytes->cap = cap;
    }
    if (len)
        memcpy(bytes->data + bytes->len, data, len);
    bytes->len += len;
    return KYMO_OK;
}

/* Kymo runs on little-endian machines only (x86-64, aarch64); the formats are little-endian. */
kymo_err kymo_bytes_u32(kymo_bytes *bytes, uint32_t value)
{
    return kymo_bytes_append(bytes, &value, sizeof value);
}

kymo_err kymo_bytes_u64(kymo_bytes *bytes, uint64_t value)
{
    return kymo_bytes_append(bytes, &value, sizeof value);
}

const void *kymo_read_bytes(kymo_reader *r, size_t len)
{
    if (r->failed || len > r->len - r->pos) {
        r->failed = 1;
        return NULL;
    }
    const void *p = r->data + r->pos;
    r->pos += len;
    return p;
}

#define READ_FIXED(name, type)                            \
    type name(kymo_reader *r)                             \
    {                                                     \
        type value = 0;                                   \
        const void *p = kymo_read_bytes(r, sizeof value); \
        if (p)                                            \
            memcpy(&value, p, sizeof value);              \
        return value;                                     \
    }
READ_FIXED(kymo_read_u8, uint8_t)
READ_FIXED(kymo_read_u16, uint16_t)
READ_FIXED(kymo_read_u32, uint32_t)
READ_FIXED(kymo_read_u64, uint64_t)
#undef READ_FIXED

uint64_t kymo_read_uleb(kymo_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = kymo_read_u8(r);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return r->failed ? 0 : value;
    }
    r->failed = 1;
    return 0;
}

int64_t kymo_read_sleb(kymo_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint8_t byte = kymo_read_u8(r);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40))
                value |= ~0ull << shift;
            return r->failed ? 0 : (int64_t)value;
        }
    }
    r->failed = 1;
    return 0;
}
