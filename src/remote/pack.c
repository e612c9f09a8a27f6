/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/pack.h"

#include <stdlib.h>
#include <zip.h>

/* Of zlib's levels the fastest: the best one takes six times its CPU time for an eighth less. */
#define LEVEL 1

static kymo_err say_failed(zip_error_t *why, kymo_error *detail)
{
    return kymo_error_set(detail, KYMO_E_IO, 0, "no zip file can be made: %.150s",
                          zip_error_strerror(why));
}

static int add(zip_t *zip, const struct kymo_pack_member *member, time_t time)
{
    zip_source_t *source = zip_source_buffer(zip, member->data, member->len, 0);
    zip_int64_t index = source ? zip_file_add(zip, member->name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
        zip_source_free(source);
        return 0;
    }
    return zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_DEFLATE, LEVEL) == 0 &&
           zip_file_set_mtime(zip, (zip_uint64_t)index, time, 0) == 0;
}

/* What was written; the source has been closed. */
static kymo_err take(zip_source_t *source, void **out, size_t *out_len, kymo_error *detail)
{
    zip_stat_t stat;
    if (zip_source_stat(source, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE) ||
        zip_source_open(source) != 0)
        return say_failed(zip_source_error(source), detail);
    void *data = malloc((size_t)stat.size + 1);
    zip_int64_t n = data ? zip_source_read(source, data, stat.size) : -1;
    zip_source_close(source);
    if (n < 0 || (zip_uint64_t)n != stat.size) {
        free(data);
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a zip file of %llu bytes",
                              (unsigned long long)stat.size);
    }
    *out = data;
    *out_len = (size_t)n;
    return KYMO_OK;
}

kymo_err kymo_pack(const struct kymo_pack_member *members, size_t count, time_t time, void **out,
                   size_t *out_len, kymo_error *detail)
{
    zip_error_t why;
    zip_error_init(&why);
    zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, &why);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &why) : NULL;
    if (!zip) {
        kymo_err err = say_failed(&why, detail);
        zip_source_free(source);
        zip_error_fini(&why);
        return err;
    }
    zip_source_keep(source); /* closing the archive frees one reference */
    kymo_err err = KYMO_OK;
    for (size_t i = 0; err == KYMO_OK && i < count; i++)
        if (!add(zip, &members[i], time))
            err = say_failed(zip_get_error(zip), detail);
    if (err == KYMO_OK && zip_close(zip) != 0)
        err = say_failed(zip_get_error(zip), detail);
    else if (err == KYMO_OK)
        zip = NULL;
    if (zip)
        zip_discard(zip);
    if (err == KYMO_OK)
        err = take(source, out, out_len, detail);
    zip_source_free(source);
    zip_error_fini(&why);
    return err;
}
