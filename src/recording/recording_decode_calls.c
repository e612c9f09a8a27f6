/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_calls.c - chunks of traced calls; recording_calls.h says what they leave out.
 */
#include "recording/recording_decode_event.h"

#include "kymo/trace_abi.h"

#define TAG_MASK ((1u << KYMO_FILE_CALL_TAG_BITS) - 1)

/* The event's function: of the file, or from the group's list. KYMO_E_CORRUPT: it has none such. */
static kymo_err read_function(kymo_decoder *d, kymo_reader *r, uint32_t process, uint32_t *script)
{
    struct kymo_decoder_calls *c = &d->calls;
    uint64_t place = kymo_read_uleb(r);
    if (place) {
        if (place > c->functions.len)
            return KYMO_E_CORRUPT;
        *script = c->functions.data[place - 1];
        return KYMO_OK;
    }
    uint64_t id = kymo_read_uleb(r);
    if (r->failed || id > KYMO_EVENT_NONE)
        return KYMO_E_CORRUPT;
    *script = KYMO_EVENT_NONE;
    if (id != KYMO_EVENT_NONE && !kymo_id_map_find(&d->scripts, process, (uint32_t)id, script))
        d->damage.references++; /* the call is valid without its name */
    return kymo_vec_push(&c->functions, *script);
}

static kymo_err read_general(kymo_decoder *d, kymo_reader *r, uint32_t process, kymo_event_call *e)
{
    uint64_t kind = kymo_read_uleb(r), depth = kymo_read_uleb(r), missing = kymo_read_uleb(r);
    if (kind > KYMO_TRACE_STOP || depth > KYMO_EVENT_CALL_DEPTH_MAX || missing > UINT32_MAX)
        return KYMO_E_CORRUPT;
    *e = (kymo_event_call){
        .depth = (uint32_t)depth, .kind = (uint32_t)kind, .missing = (uint32_t)missing};
    return read_function(d, r, process, &e->script);
}

/* The event without its time. KYMO_E_CORRUPT: it makes no sense. */
static kymo_err read_event(kymo_decoder *d, kymo_reader *r, uint32_t process, uint32_t tag,
                           kymo_event_call *e)
{
    static const uint8_t kinds[] = {
        [KYMO_FILE_CALL_RETURN] = KYMO_TRACE_RETURN, [KYMO_FILE_CALL_YIELD] = KYMO_TRACE_YIELD,
        [KYMO_FILE_CALL_UNWIND] = KYMO_TRACE_UNWIND, [KYMO_FILE_CALL_CALL] = KYMO_TRACE_CALL,
        [KYMO_FILE_CALL_RESUME] = KYMO_TRACE_RESUME,
    };
    const struct kymo_call_stack *s = &d->calls.stack;
    if (tag == KYMO_FILE_CALL_GENERAL)
        return read_general(d, r, process, e);
    if (tag >= KYMO_ARRAY_LEN(kinds))
        return KYMO_E_CORRUPT;
    *e = (kymo_event_call){.kind = kinds[tag], .depth = kymo_call_stack_depth(s)};
    if (kymo_call_begins(e->kind))
        return ++e->depth <= KYMO_EVENT_CALL_DEPTH_MAX ? read_function(d, r, process, &e->script)
                                                       : KYMO_E_CORRUPT;
    if (s->scripts.len == 0)
        return KYMO_E_CORRUPT;
    e->script = s->scripts.data[s->scripts.len - 1];
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

static kymo_err decode_group(kymo_decoder *d, uint32_t thread, kymo_reader *r, uint32_t count)
{
    struct kymo_decoder_calls *c = &d->calls;
    uint32_t process = d->thread_process.data[thread];
    uint64_t time_ns = 0;
    uint32_t n = 0;
    kymo_err err = KYMO_OK;
    kymo_call_stack_clear(&c->stack, 0);
    c->functions.len = 0;
    for (uint32_t i = 0; i < count; i++) {
        kymo_event_call *e = &c->batch[n];
        uint64_t word = kymo_read_uleb(r);
        time_ns += word >> KYMO_FILE_CALL_TAG_BITS;
        err = read_event(d, r, process, (uint32_t)word & TAG_MASK, e);
        if (err == KYMO_OK && (r->failed || !kymo_decode_time_is_sane(time_ns)))
            err = KYMO_E_CORRUPT;
        if (err != KYMO_OK)
            break;
        e->time_ns = time_ns;
        KYMO_TRY(kymo_call_stack_apply(&c->stack, e));
        if (++n < KYMO_DECODER_CALLS)
            continue;
        n = 0;
        KYMO_TRY(deliver(d, thread, KYMO_DECODER_CALLS));
    }
    KYMO_TRY(deliver(d, thread, n));
    return err == KYMO_E_CORRUPT ? kymo_decode_malformed(d) : err;
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
