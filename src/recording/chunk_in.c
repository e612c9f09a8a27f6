/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/chunk_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (256u << 10)

void kymo_chunk_in_init_fd(kymo_chunk_in *b, int fd, int by_offset)
{
    memset(b, 0, sizeof *b);
    b->fd = fd;
    b->by_offset = by_offset;
    b->limit = UINT64_MAX;
}

void kymo_chunk_in_init_memory(kymo_chunk_in *b, const void *data, size_t len)
{
    memset(b, 0, sizeof *b);
    b->fd = -1;
    b->data = data;
    b->len = len;
    b->at_end = 1;
}

void kymo_chunk_in_deinit(kymo_chunk_in *b)
{
    if (b->inflate_ready)
        inflateEnd(&b->inflate);
    free(b->buffer);
    free(b->raw);
    memset(b, 0, sizeof *b);
}

/* Moves the window to the front of the buffer and leaves room for at least READ_BYTES after it. */
static kymo_err make_room(kymo_chunk_in *b)
{
    if (b->len > 0 && b->data != b->buffer)
        memmove(b->buffer, b->data, b->len);
    b->data = b->buffer;
    if (b->buffer_cap - b->len >= READ_BYTES)
        return KYMO_OK;
    size_t cap = b->buffer_cap * 2 + READ_BYTES;
    unsigned char *grown = realloc(b->buffer, cap);
    if (grown == NULL)
        return KYMO_E_NOMEM;
    b->data = b->buffer = grown;
    b->buffer_cap = cap;
    return KYMO_OK;
}

kymo_err kymo_chunk_in_peek(kymo_chunk_in *b, size_t want, size_t *got, kymo_error *detail)
{
    while (b->len < want && !b->at_end) {
        kymo_err err = make_room(b);
        if (err != KYMO_OK)
            return kymo_error_set(detail, err, b->at, "out of memory reading the recording");
        size_t room = b->buffer_cap - b->len;
        if (room > b->limit - (b->at + b->len))
            room = b->limit - (b->at + b->len);
        ssize_t n = b->by_offset ? pread(b->fd, b->buffer + b->len, room, (off_t)(b->at + b->len))
                                 : read(b->fd, b->buffer + b->len, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err = kymo_error_set_errno(detail, "reading the recording");
            if (detail != NULL)
                detail->position = b->at + b->len;
            return err;
        }
        if (n == 0)
            b->at_end = 1;
        b->len += (size_t)n;
    }
    *got = b->len < want ? b->len : want;
    return KYMO_OK;
}

void kymo_chunk_in_skip(kymo_chunk_in *b, size_t n)
{
    b->data += n;
    b->len -= n;
    b->at += n;
}

kymo_err kymo_chunk_in_inflate(kymo_chunk_in *b, const unsigned char *payload, size_t len,
                               size_t *raw_len)
{
    uint64_t raw_length;
    if (len < sizeof raw_length)
        return KYMO_E_CORRUPT;
    memcpy(&raw_length, payload, sizeof raw_length);
    if (raw_length % 8 != 0 || raw_length > KYMO_CHUNK_LENGTH_MAX ||
        raw_length > (uint64_t)len * KYMO_CHUNK_RATIO_MAX)
        return KYMO_E_CORRUPT;
    if (raw_length > b->raw_cap) {
        unsigned char *grown = realloc(b->raw, raw_length);
        if (grown == NULL)
            return KYMO_E_NOMEM;
        b->raw = grown;
        b->raw_cap = raw_length;
    }
    if (!b->inflate_ready) {
        if (inflateInit(&b->inflate) != Z_OK)
            return KYMO_E_NOMEM;
        b->inflate_ready = 1;
    } else {
        inflateReset(&b->inflate);
    }
    /* zlib only reads through next_in, in spite of its type. */
    b->inflate.next_in = (Bytef *)(uintptr_t)(payload + sizeof raw_length);
    b->inflate.avail_in = (uInt)(len - sizeof raw_length);
    b->inflate.next_out = b->raw;
    b->inflate.avail_out = (uInt)raw_length;
    int rc = inflate(&b->inflate, Z_FINISH);
    if (rc == Z_MEM_ERROR)
        return KYMO_E_NOMEM;
    if (rc != Z_STREAM_END || b->inflate.avail_out != 0 || b->inflate.avail_in >= 8)
        return KYMO_E_CORRUPT;
    *raw_len = raw_length;
    return KYMO_OK;
}
