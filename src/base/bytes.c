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
