/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_bytes.h"

#include <stdlib.h>
#include <string.h>

enum { ENCODING_NULL = 0, ENCODING_UTF8 = 3 };

void kymo_jfr_bytes_deinit(kymo_jfr_bytes *bytes)
{
    free(bytes->data);
    *bytes = (kymo_jfr_bytes){0};
}

int kymo_jfr_bytes_grow(kymo_jfr_bytes *bytes, size_t n)
{
    size_t cap = bytes->cap ? bytes->cap * 2 : 256;
    if (bytes->failed)
        return 0;
    if (cap < bytes->len + n)
        cap = bytes->len + n;
    unsigned char *grown = realloc(bytes->data, cap);
    if (!grown) {
        bytes->failed = 1;
        return 0;
    }
    bytes->data = grown;
    bytes->cap = cap;
    return 1;
}

void kymo_jfr_raw(kymo_jfr_bytes *bytes, const void *data, size_t len)
{
    if (len == 0 || !kymo_jfr_bytes_reserve(bytes, len))
        return;
    memcpy(bytes->data + bytes->len, data, len);
    bytes->len += len;
}

void kymo_jfr_u8(kymo_jfr_bytes *bytes, uint8_t value)
{
    kymo_jfr_raw(bytes, &value, sizeof value);
}

void kymo_jfr_u16(kymo_jfr_bytes *bytes, uint16_t value)
{
    value = __builtin_bswap16(value);
    kymo_jfr_raw(bytes, &value, sizeof value);
}

void kymo_jfr_u32(kymo_jfr_bytes *bytes, uint32_t value)
{
    value = __builtin_bswap32(value);
    kymo_jfr_raw(bytes, &value, sizeof value);
}

void kymo_jfr_u64(kymo_jfr_bytes *bytes, uint64_t value)
{
    value = __builtin_bswap64(value);
    kymo_jfr_raw(bytes, &value, sizeof value);
}

void kymo_jfr_float(kymo_jfr_bytes *bytes, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    kymo_jfr_u32(bytes, bits);
}

void kymo_jfr_double(kymo_jfr_bytes *bytes, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    kymo_jfr_u64(bytes, bits);
}

/* The format has a shorter way to write an empty text. Not all readers know it in a symbol. */
void kymo_jfr_string(kymo_jfr_bytes *bytes, const char *text, size_t len)
{
    kymo_jfr_u8(bytes, ENCODING_UTF8);
    kymo_jfr_varint(bytes, len);
    kymo_jfr_raw(bytes, text, len);
}

void kymo_jfr_cstr(kymo_jfr_bytes *bytes, const char *text)
{
    if (text)
        kymo_jfr_string(bytes, text, strlen(text));
    else
        kymo_jfr_u8(bytes, ENCODING_NULL);
}

/* Nearly all events are shorter than 128 bytes, and their size is one byte then. */
size_t kymo_jfr_event_begin(kymo_jfr_bytes *bytes, uint32_t type)
{
    size_t begin = bytes->len;
    if (kymo_jfr_bytes_reserve(bytes, 1))
        bytes->len++;
    kymo_jfr_varint(bytes, type);
    return begin;
}

static unsigned varint_len(uint64_t value)
{
    unsigned len = 1;
    while (value >>= 7)
        len++;
    return len;
}

void kymo_jfr_event_end(kymo_jfr_bytes *bytes, size_t begin)
{
    uint64_t size = bytes->len - begin;
    if (bytes->failed)
        return;
    if (size < 0x80) {
        bytes->data[begin] = (unsigned char)size;
        return;
    }
    /* The bytes of the size count, and may be one more for it. */
    unsigned more = varint_len(size) - 1;
    more = varint_len(size + more) - 1;
    if (!kymo_jfr_bytes_reserve(bytes, more))
        return;
    unsigned char *at = bytes->data + begin;
    memmove(at + 1 + more, at + 1, size - 1);
    bytes->len += more;
    size += more;
    for (unsigned i = 0; i < more; i++, size >>= 7)
        at[i] = (unsigned char)(size | 0x80);
    at[more] = (unsigned char)size;
}
