/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/gzip_sink.h"

#include <limits.h>
#include <string.h>

static kymo_err write_out(kymo_gzip_sink *gzip)
{
    size_t len = sizeof gzip->out - gzip->stream.avail_out;
    gzip->stream.next_out = gzip->out;
    gzip->stream.avail_out = sizeof gzip->out;
    return len > 0 ? kymo_sink_write(gzip->to, gzip->out, len) : KYMO_OK;
}

static kymo_err gzip_write(kymo_sink *sink, const void *data, size_t len)
{
    kymo_gzip_sink *gzip = (kymo_gzip_sink *)sink;
    const unsigned char *p = data;
    while (len > 0) {
        uInt part = len < UINT_MAX ? (uInt)len : UINT_MAX;
        gzip->stream.next_in = p;
        gzip->stream.avail_in = part;
        p += part;
        len -= part;
        while (gzip->stream.avail_in > 0) {
            deflate(&gzip->stream, Z_NO_FLUSH);
            if (gzip->stream.avail_out == 0)
                KYMO_TRY(write_out(gzip));
        }
    }
    return KYMO_OK;
}

kymo_err kymo_gzip_sink_init(kymo_gzip_sink *gzip, kymo_sink *to, int level)
{
    memset(&gzip->stream, 0, sizeof gzip->stream);
    if (level < 1 || level > 9)
        return KYMO_E_RANGE;
    /* 16 selects gzip's header, here without file name and time: equal profiles give equal
     * files. */
    if (deflateInit2(&gzip->stream, level, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return KYMO_E_NOMEM;
    gzip->sink.write = gzip_write;
    gzip->to = to;
    gzip->stream.next_out = gzip->out;
    gzip->stream.avail_out = sizeof gzip->out;
    return KYMO_OK;
}

kymo_err kymo_gzip_sink_finish(kymo_gzip_sink *gzip)
{
    int result;
    do {
        result = deflate(&gzip->stream, Z_FINISH);
        KYMO_TRY(write_out(gzip));
    } while (result == Z_OK || result == Z_BUF_ERROR);
    return result == Z_STREAM_END ? KYMO_OK : KYMO_E_IO;
}

void kymo_gzip_sink_deinit(kymo_gzip_sink *gzip)
{
    deflateEnd(&gzip->stream);
}
