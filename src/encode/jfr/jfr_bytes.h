/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_bytes.h - the numbers, texts and events of JFR, in memory that grows.
 *
 * Layer:    encode; above base
 * Flow:     jfr_*.c -> [jfr_bytes] -> jfr_chunk.c
 * Threads:  one owner at a time
 * Memory:   each owns its buffer, which is kept when it is cleared
 * Signals:  not for handlers
 *
 * `failed` stays set when there was no memory, so that a caller may add many fields and look once.
 */
#ifndef KYMO_ENCODE_JFR_JFR_BYTES_H
#define KYMO_ENCODE_JFR_JFR_BYTES_H

#include <stddef.h>
#include <stdint.h>

#define KYMO_JFR_VARINT_MAX 9
#define KYMO_JFR_LAST_BYTE 8 /* of a varint: it has eight bits of the value, the others seven */

typedef struct kymo_jfr_bytes {
    unsigned char *data;
    size_t len;
    size_t cap;
    int failed;
} kymo_jfr_bytes;

/* Bytes of zero are valid and empty. */
void kymo_jfr_bytes_deinit(kymo_jfr_bytes *bytes);
static inline void kymo_jfr_bytes_clear(kymo_jfr_bytes *bytes)
{
    bytes->len = 0;
}

/* Makes room for n more bytes; 0: there is none, and failed is set. */
int kymo_jfr_bytes_grow(kymo_jfr_bytes *bytes, size_t n);
static inline int kymo_jfr_bytes_reserve(kymo_jfr_bytes *bytes, size_t n)
{
    return n <= bytes->cap - bytes->len || kymo_jfr_bytes_grow(bytes, n);
}

void kymo_jfr_raw(kymo_jfr_bytes *bytes, const void *data, size_t len);
void kymo_jfr_u8(kymo_jfr_bytes *bytes, uint8_t value);
/* Big-endian, as floating-point numbers and the header of a chunk are. */
void kymo_jfr_u16(kymo_jfr_bytes *bytes, uint16_t value);
void kymo_jfr_u32(kymo_jfr_bytes *bytes, uint32_t value);
void kymo_jfr_u64(kymo_jfr_bytes *bytes, uint64_t value);
void kymo_jfr_float(kymo_jfr_bytes *bytes, float value);
void kymo_jfr_double(kymo_jfr_bytes *bytes, double value);

/* An int or a long; a negative one is its two's complement of 64 bits. */
static inline void kymo_jfr_varint(kymo_jfr_bytes *bytes, uint64_t value)
{
    if (!kymo_jfr_bytes_reserve(bytes, KYMO_JFR_VARINT_MAX))
        return;
    unsigned char *at = bytes->data + bytes->len;
    int i = 0;
    for (; i < KYMO_JFR_LAST_BYTE && value >= 0x80; i++, value >>= 7)
        at[i] = (unsigned char)(value | 0x80);
    at[i] = (unsigned char)value;
    bytes->len += (size_t)i + 1;
}

/* UTF-8. */
void kymo_jfr_string(kymo_jfr_bytes *bytes, const char *text, size_t len);
/* NULL is allowed, and is a null in the file. */
void kymo_jfr_cstr(kymo_jfr_bytes *bytes, const char *text);

/* An event is its size, which counts itself, its type and its fields. Returns where it begins, for
 * end. */
size_t kymo_jfr_event_begin(kymo_jfr_bytes *bytes, uint32_t type);
void kymo_jfr_event_end(kymo_jfr_bytes *bytes, size_t begin);

#endif
