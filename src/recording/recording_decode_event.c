/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_event.c - the pieces that payloads are made of: fixed parts, texts, arguments.
 */
#include "recording/recording_decode_event.h"

#include <assert.h>
#include <string.h>

#include "recording/recording_layout.h"

int kymo_read_grown(kymo_reader *r, void *fixed, size_t size, size_t least)
{
    kymo_reader ahead = *r;
    uint32_t stated = kymo_read_u32(&ahead);
    const void *bytes = kymo_read_bytes(r, stated);
    if (bytes == NULL || stated < least) {
        kymo_reader_fail(r);
        return 0;
    }
    memset(fixed, 0, size);
    memcpy(fixed, bytes, stated < size ? stated : size);
    return 1;
}

int kymo_read_fixed(kymo_reader *r, void *fixed, size_t size)
{
    return kymo_read_grown(r, fixed, size, size);
}

int kymo_read_event_bytes(kymo_reader *r, enum kymo_chunk_type type, void *event,
                          size_t event_bytes)
{
    const struct kymo_layout *layout = kymo_layout_of(type);
    unsigned char fixed[KYMO_LAYOUT_FIXED_MAX];
    assert(event_bytes == layout->event_bytes);
    memset(event, 0, event_bytes);
    if (!kymo_read_grown(r, fixed, layout->file_bytes, layout->least_bytes))
        return 0;
    for (size_t i = 0; i < layout->count; i++) {
        const struct kymo_layout_member *m = &layout->members[i];
        unsigned char *to = (unsigned char *)event + m->event_at;
        if (m->bytes)
            memcpy(to, fixed + m->file_at, m->bytes);
        else
            *(const char **)(void *)to = kymo_read_text(r);
    }
    return !r->failed;
}

int kymo_read_head(kymo_reader *r, void *head, size_t size, uint16_t *head_bytes)
{
    kymo_reader ahead = *r;
    const void *bytes = kymo_read_bytes(&ahead, size);
    if (bytes)
        memcpy(head, bytes, size);
    if (!bytes || *head_bytes < size)
        kymo_reader_fail(r);
    else
        kymo_reader_skip(r, *head_bytes);
    return !r->failed;
}

kymo_err kymo_decoder_read_args(kymo_decoder *d, kymo_reader *r, uint32_t argc)
{
    if (argc > KYMO_FILE_ARGS_MAX || argc > kymo_reader_left(r))
        kymo_reader_fail(r);
    if (r->failed)
        return KYMO_OK;
    d->args.len = 0;
    KYMO_TRY(kymo_vec_reserve(&d->args, argc));
    for (uint32_t i = 0; i < argc; i++)
        d->args.data[d->args.len++] = kymo_read_text(r);
    return KYMO_OK;
}
