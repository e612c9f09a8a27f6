/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_calls.c - chunks of traced calls; recording_calls.h says what they leave out.
 */
#include "recording/recording_decode_event.h"

struct call_function {
    kymo_decoder *decoder;
    uint32_t process;
};

/* The event's function as the handler knows it. */
static kymo_err find_function(void *ctx, uint32_t id, uint32_t *script)
{
    const struct call_function *f = ctx;
    if (kymo_id_map_find(&f->decoder->scripts, f->process, id, script))
        return KYMO_OK;
    *script = KYMO_EVENT_NONE;
    f->decoder->damage.references++; /* the call is valid without its name */
    return KYMO_OK;
}

static kymo_err deliver(kymo_decoder *d, uint32_t thread, uint32_t count)
{
    const kymo_event_calls e = {thread, count, d->calls.batch};
    if (count == 0)
        return KYMO_OK;
    d->events += count - 1;
    return KYMO_DELIVER(d, calls, &e);
}

static kymo_err decode_events(kymo_decoder *d, uint32_t thread, kymo_reader *r, uint32_t count)
{
    struct kymo_decoder_calls *c = &d->calls;
    struct call_function function = {d, d->thread_process.data[thread]};
    kymo_err err = KYMO_OK;
    kymo_call_reader_begin(&c->reader);
    c->reader.function = find_function;
    c->reader.ctx = &function;
    while (count && err == KYMO_OK) {
        uint32_t n, most = count < KYMO_DECODER_CALLS ? count : KYMO_DECODER_CALLS;
        err = kymo_call_reader_next(&c->reader, r, c->batch, most, &n);
        KYMO_TRY(deliver(d, thread, n));
        count -= n;
    }
    return err == KYMO_E_CORRUPT ? kymo_decode_malformed(d) : err;
}

static kymo_err decode_group(kymo_decoder *d, uint32_t thread, kymo_reader *r, uint32_t count)
{
    const kymo_event_handler *h = d->handler;
    if (h->calls && !h->call_count)
        return decode_events(d, thread, r, count);
    if (count > (size_t)(r->end - r->at)) /* an event has a byte at least */
        return kymo_decode_malformed(d);
    d->events += count;
    return h->call_count ? h->call_count(d->ctx, thread, count) : KYMO_OK;
}

kymo_err kymo_decode_calls(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_rows head;
    if (!kymo_read_head(r, &head, sizeof head, &head.head_bytes))
        return kymo_decode_malformed(d);
    for (uint32_t i = 0; i < head.groups; i++) {
        struct kymo_file_call_group group;
        group.thread = kymo_read_u32(r);
        group.count = kymo_read_u32(r);
        group.bytes = kymo_read_u32(r);
        const void *bytes = kymo_read_bytes(r, group.bytes);
        if (bytes == NULL)
            return kymo_decode_malformed(d);
        uint32_t thread;
        kymo_reader calls = kymo_reader_of(bytes, group.bytes);
        if (kymo_id_map_find(&d->threads, 0, group.thread, &thread))
            KYMO_TRY(decode_group(d, thread, &calls, group.count));
        else
            d->damage.references += group.count;
        if (d->malformed)
            return KYMO_OK;
    }
    return KYMO_OK;
}
