/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_calls.c - chunks of traced calls; recording_calls.h reads their groups.
 */
#include "recording/recording_decode_event.h"

/* What an event takes, about. */
#define BYTES_OF_EVENT 3u

/* The event's function as the handler knows it. */
static kymo_err find_script(void *ctx, uint32_t id, uint32_t *script)
{
    kymo_decoder *d = ctx;
    if (kymo_id_map_find(&d->scripts, d->calls.process, id, script))
        return KYMO_OK;
    *script = KYMO_EVENT_NONE;
    d->damage.references++; /* the call is valid without its name */
    return KYMO_OK;
}

kymo_err kymo_deliver_calls(kymo_decoder *d, uint32_t thread, uint32_t count)
{
    const kymo_event_calls e = {thread, count, d->calls.batch};
    if (count == 0)
        return KYMO_OK;
    d->events += count - 1;
    return KYMO_DELIVER(d, calls, &e);
}

kymo_err kymo_count_calls(kymo_decoder *d, uint32_t thread, uint32_t count)
{
    d->events += count;
    return d->handler->call_count ? d->handler->call_count(d->ctx, thread, count) : KYMO_OK;
}

static kymo_err find_state(kymo_decoder *d, uint32_t thread, struct kymo_call_state **state)
{
    while (d->calls.threads.len <= thread)
        KYMO_TRY(kymo_vec_push(&d->calls.threads, (struct kymo_call_state){.base = 0}));
    *state = &d->calls.threads.data[thread];
    return KYMO_OK;
}

static kymo_err decode_events(kymo_decoder *d, uint32_t thread, const kymo_event_raw_calls *group)
{
    struct kymo_decoder_calls *c = &d->calls;
    struct kymo_call_state *state;
    kymo_err err = KYMO_OK;
    KYMO_TRY(find_state(d, thread, &state));
    c->reader.script = find_script;
    c->reader.ctx = d;
    if (c->process != d->thread_process.data[thread])
        kymo_call_reader_forget(&c->reader);
    c->process = d->thread_process.data[thread];
    kymo_call_reader_begin(&c->reader, state, group);
    for (uint32_t n = 1; n && err == KYMO_OK;) {
        err = kymo_call_reader_next(&c->reader, c->batch, KYMO_DECODER_CALLS, &n);
        KYMO_TRY(kymo_deliver_calls(d, thread, n));
    }
    if (err != KYMO_E_CORRUPT)
        return err;
    /* The program may have written over its own events: what others wrote is as it was. */
    d->damage.values++;
    return KYMO_OK;
}

static kymo_err decode_group(kymo_decoder *d, uint32_t thread, const kymo_event_raw_calls *group)
{
    return d->handler->calls && !d->handler->call_count
               ? decode_events(d, thread, group)
               : kymo_count_calls(d, thread, group->calls.len / BYTES_OF_EVENT);
}

kymo_err kymo_decode_calls(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_rows head;
    if (!kymo_read_head(r, &head, sizeof head, &head.head_bytes))
        return kymo_decode_malformed(d);
    for (uint32_t i = 0; i < head.groups; i++) {
        kymo_event_raw_calls group;
        uint32_t thread;
        if (!kymo_read_call_group(r, &group))
            return kymo_decode_malformed(d);
        if (kymo_id_map_find(&d->threads, 0, group.thread, &thread))
            KYMO_TRY(decode_group(d, thread, &group));
        else
            d->damage.references += group.calls.len / BYTES_OF_EVENT;
    }
    return KYMO_OK;
}
