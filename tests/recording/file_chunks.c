/* SPDX-License-Identifier: Apache-2.0 */
#include "file_chunks.h"

#include <string.h>

#include "recording/recording_format.h"

void file_chunk_seal(kymo_bytes *file, size_t at)
{
    struct kymo_chunk_header header;
    memcpy(&header, file->data + at, sizeof header);
    header.crc = kymo_chunk_crc(&header, file->data + at + sizeof header);
    memcpy(file->data + at, &header, sizeof header);
}

kymo_err file_chunk_put(kymo_bytes *file, uint32_t type, uint32_t flags, const void *payload,
                        size_t len)
{
    size_t at = file->len;
    static const unsigned char zeros[8];
    struct kymo_chunk_header header = {
        .type = type, .length = (uint32_t)((len + 7) / 8 * 8), .flags = flags};
    KYMO_TRY(kymo_bytes_append(file, &header, sizeof header));
    KYMO_TRY(kymo_bytes_append(file, payload, len));
    KYMO_TRY(kymo_bytes_append(file, zeros, (8 - len % 8) % 8));
    file_chunk_seal(file, at);
    return KYMO_OK;
}

size_t file_chunk_starts(const kymo_bytes *file, size_t *starts, size_t cap)
{
    size_t n = 0;
    size_t at = sizeof(struct kymo_file_header);
    while (at < file->len && n < cap) {
        struct kymo_chunk_header header;
        starts[n++] = at;
        memcpy(&header, file->data + at, sizeof header);
        at += sizeof header + header.length;
    }
    if (n == cap)
        return 0;
    starts[n] = file->len;
    return n;
}
