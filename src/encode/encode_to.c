/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode_to.c - the most common sinks: memory and a descriptor.
 */
#include "base/bytes.h"
#include "kymo/encode.h"
#include "sys/write_all.h"

kymo_err kymo_encode_memory(const kymo_profile *profile, const kymo_format *format,
                            const kymo_encode_options *options, void **data, size_t *len,
                            kymo_error *detail)
{
    kymo_bytes out;
    kymo_bytes_init(&out, SIZE_MAX);
    kymo_err err = kymo_encode(profile, format, &out.sink, options, detail);
    if (err != KYMO_OK) {
        kymo_bytes_deinit(&out);
        return err;
    }
    *data = out.data;
    *len = out.len;
    return KYMO_OK;
}

struct fd_sink {
    kymo_sink sink;
    int fd;
    kymo_error *detail;
};

static kymo_err fd_write(kymo_sink *sink, const void *data, size_t len)
{
    const struct fd_sink *to = (struct fd_sink *)sink;
    if (kymo_write_all(to->fd, data, len) == len)
        return KYMO_OK;
    return kymo_error_set_errno(to->detail, "cannot write the profile");
}

kymo_err kymo_encode_fd(const kymo_profile *profile, const kymo_format *format, int fd,
                        const kymo_encode_options *options, kymo_error *detail)
{
    struct fd_sink to = {{fd_write}, fd, detail};
    return kymo_encode(profile, format, &to.sink, options, detail);
}
