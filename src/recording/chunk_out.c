/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_out.c - makes checksummed chunks of payloads, and writes them to the file.
 *
 * `out` holds only whole chunks (and first the file header), so after a failed write the file can
 * be truncated to the end of a chunk.
 */
#include "recording/chunk_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/write_all.h"

#define OUT_BYTES (256u << 10) /* `out` is written when it has this size */

kymo_err kymo_chunk_out_init(kymo_chunk_out *b, int fd, int continues)
{
    memset(b, 0, sizeof *b);
    b->fd = fd;
    struct stat st;
    b->start = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
    /* The largest size of `out`: less than OUT_BYTES, and one chunk. */
    kymo_bytes_init(&b->out, OUT_BYTES + KYMO_CHUNK_LENGTH_MAX + sizeof(struct kymo_chunk_header));
    if (continues)
        return KYMO_OK;
    b->head_bytes = sizeof(struct kymo_file_header);
    struct kymo_file_header header = {
        .major = KYMO_FILE_MAJOR,
        .minor = KYMO_FILE_MINOR,
        .header_bytes = sizeof header,
    };
    memcpy(header.magic, KYMO_FILE_MAGIC, sizeof header.magic);
    header.crc = kymo_file_header_crc(&header);
    return kymo_bytes_append(&b->out, &header, sizeof header);
}

void kymo_chunk_out_deinit(kymo_chunk_out *b)
{
    kymo_bytes_deinit(&b->out);
    if (b->deflate_ready)
        deflateEnd(&b->deflate);
    free(b->packed);
}

kymo_err kymo_chunk_out_fail(kymo_chunk_out *b, kymo_err code)
{
    if (b->error.code == KYMO_OK)
        kymo_error_set(&b->error, code, b->written, "writing the recording: %s",
                       kymo_err_text(code));
    return b->error.code;
}

/* The largest offset in `out`, at most `limit`, at which a chunk ends. */
static size_t chunk_boundary(const kymo_chunk_out *b, size_t limit)
{
    size_t at = 0;
    size_t next = b->written == 0 ? b->head_bytes : 0;
    while (next <= limit) {
        struct kymo_chunk_header header;
        at = next;
        if (b->out.len - at < sizeof header)
            break;
        memcpy(&header, b->out.data + at, sizeof header);
        next = at + sizeof header + header.length;
    }
    return at;
}

/* After a short write: truncates the file to the last whole chunk. If that fails, too, the file
 * ends within a chunk, which the reader handles. */
static void cut_back(kymo_chunk_out *b, size_t done)
{
    size_t whole = chunk_boundary(b, done);
    b->written += whole;
    if (b->start < 0 || whole == done)
        return;
    off_t end = b->start + (off_t)b->written;
    if (ftruncate(b->fd, end) == 0)
        (void)lseek(b->fd, end, SEEK_SET);
}

kymo_err kymo_chunk_out_flush(kymo_chunk_out *b)
{
    if (b->missed.code != KYMO_OK) {
        kymo_bytes_clear(&b->out);
        return KYMO_OK;
    }
    size_t done = kymo_write_all(b->fd, b->out.data, b->out.len);
    if (done < b->out.len) {
        kymo_error *error = b->goes_on ? &b->missed : &b->error;
        int saved = errno;
        cut_back(b, done);
        kymo_bytes_clear(&b->out);
        errno = saved;
        kymo_error_set_errno(error, "writing the recording");
        error->position = b->written;
        return b->error.code;
    }
    b->written += b->out.len;
    kymo_bytes_clear(&b->out);
    return KYMO_OK;
}

static kymo_err pad_to_8(kymo_bytes *bytes)
{
    static const unsigned char zeros[8];
    return kymo_bytes_append(bytes, zeros, (8 - bytes->len % 8) % 8);
}

/* Compresses payload into b->packed: raw length, stream, padding. Returns its length, or 0 if it
 * saves nothing or there is no memory for it. */
static size_t pack(kymo_chunk_out *b, const kymo_bytes *payload)
{
    if (!b->deflate_ready) {
        if (deflateInit(&b->deflate, Z_BEST_SPEED) != Z_OK)
            return 0;
        b->deflate_ready = 1;
    }
    size_t need = sizeof(uint64_t) + deflateBound(&b->deflate, (uLong)payload->len) + 8;
    if (need > b->packed_cap) {
        unsigned char *grown = realloc(b->packed, need);
        if (grown == NULL)
            return 0;
        b->packed = grown;
        b->packed_cap = need;
    }
    uint64_t raw_length = payload->len;
    memcpy(b->packed, &raw_length, sizeof raw_length);
    b->deflate.next_in = payload->data;
    b->deflate.avail_in = (uInt)payload->len;
    b->deflate.next_out = b->packed + sizeof raw_length;
    b->deflate.avail_out = (uInt)(need - sizeof raw_length);
    int rc = deflate(&b->deflate, Z_FINISH);
    size_t used = sizeof raw_length + b->deflate.total_out;
    deflateReset(&b->deflate);
    size_t stored = (used + 7) / 8 * 8;
    if (rc != Z_STREAM_END || stored >= payload->len ||
        payload->len > stored * KYMO_CHUNK_RATIO_MAX)
        return 0;
    memset(b->packed + used, 0, stored - used);
    return stored;
}

kymo_err kymo_chunk_out_put(kymo_chunk_out *b, enum kymo_chunk_type type, kymo_bytes *payload,
                            int compress)
{
    KYMO_TRY(pad_to_8(payload));
    if (payload->len > KYMO_CHUNK_LENGTH_MAX)
        return KYMO_E_TOO_BIG;
    const unsigned char *stored = payload->data;
    size_t stored_len = payload->len;
    struct kymo_chunk_header header = {
        .type = type, .flags = kymo_chunk_is_skippable(type) ? KYMO_CHUNK_SKIPPABLE : 0};
    if (compress) {
        size_t packed_len = pack(b, payload);
        if (packed_len > 0) {
            stored = b->packed;
            stored_len = packed_len;
            header.flags |= KYMO_CHUNK_COMPRESSED;
        }
    }
    header.length = (uint32_t)stored_len;
    header.crc = kymo_chunk_crc(&header, stored);
    size_t before = b->out.len;
    kymo_err err = kymo_bytes_append(&b->out, &header, sizeof header);
    if (err == KYMO_OK)
        err = kymo_bytes_append(&b->out, stored, stored_len);
    if (err != KYMO_OK) {
        b->out.len = before; /* whole chunks only */
        return err;
    }
    return b->out.len < OUT_BYTES ? KYMO_OK : kymo_chunk_out_flush(b);
}
