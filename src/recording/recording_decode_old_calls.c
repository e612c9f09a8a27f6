/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_old_calls.c - chunks of traced calls as versions 1.10 to 1.12 wrote them: a
 * group can be read alone. An event begins with its time since the one before and a tag; depth and
 * function follow from the events before, or are there.
 */
#include "recording/recording_decode_event.h"

enum { RETURN, YIELD, UNWIND, CALL, RESUME, ANY = 7 };
#define TAG_BITS 3u

/* By tag. */
static const uint8_t kinds[] = {[RETURN] = KYMO_TRACE_RETURN,
                                [YIELD] = KYMO_TRACE_YIELD,
                                [UNWIND] = KYMO_TRACE_UNWIND,
                                [CALL] = KYMO_TRACE_CALL,
                                [RESUME] = KYMO_TRACE_RESUME};

/* A group that is being read. */
struct old_group {
    kymo_decoder *decoder;
    kymo_reader bytes;
    uint32_t process;
    uint64_t time_ns;             /* of the last event */
    KYMO_VEC(uint32_t) functions; /* by their places in the group */
    struct kymo_call_state state; /* of it the stack alone */
};

/* Of the file, or from the group's list. */
static kymo_err read_function(struct old_group *g, uint32_t *script)
{
    uint64_t place = kymo_read_uleb(&g->bytes);
    if (place) {
        if (place > g->functions.len)
            return KYMO_E_CORRUPT;
        *script = g->functions.data[place - 1];
        return KYMO_OK;
    }
    uint64_t id = kymo_read_uleb(&g->bytes);
    if (g->bytes.failed || id > KYMO_EVENT_NONE)
        return KYMO_E_CORRUPT;
    *script = KYMO_EVENT_NONE;
    if (id != KYMO_EVENT_NONE &&
        !kymo_id_map_find(&g->decoder->scripts, g->process, (uint32_t)id, script))
        g->decoder->damage.references++; /* the call is valid without its name */
    return kymo_vec_push(&g->functions, *script);
}

static kymo_err read_any(struct old_group *g, kymo_event_call *e)
{
    uint64_t kind = kymo_read_uleb(&g->bytes), depth = kymo_read_uleb(&g->bytes);
    uint64_t missing = kymo_read_uleb(&g->bytes);
    if (kind > KYMO_TRACE_STOP || depth > KYMO_CALL_DEPTH_MAX || missing > UINT32_MAX ||
        (depth == 0 && kind < KYMO_TRACE_GAP))
        return KYMO_E_CORRUPT;
    e->kind = (uint32_t)kind;
    e->depth = (uint32_t)depth;
    e->missing = (uint32_t)missing;
    KYMO_TRY(read_function(g, &e->script));
    if (kymo_call_begins(e->kind) || kymo_call_ends(e->kind))
        kymo_call_state_set_depth(&g->state, e->depth ? e->depth - 1 : 0);
    if (kymo_call_begins(e->kind))
        return kymo_vec_push(&g->state.scripts, e->script);
    if (kind == KYMO_TRACE_STOP)
        kymo_call_state_set_depth(&g->state, 0);
    return KYMO_OK;
}

static kymo_err read_event(struct old_group *g, kymo_event_call *e)
{
    struct kymo_call_state *s = &g->state;
    uint64_t word = kymo_read_uleb(&g->bytes), delta_ns = word >> TAG_BITS;
    uint32_t tag = (uint32_t)word & ((1u << TAG_BITS) - 1);
    if (g->bytes.failed || delta_ns > KYMO_FILE_TIME_MAX - g->time_ns)
        return KYMO_E_CORRUPT;
    g->time_ns += delta_ns;
    *e = (kymo_event_call){.time_ns = g->time_ns};
    if (tag == ANY)
        return read_any(g, e);
    if (tag > RESUME)
        return KYMO_E_CORRUPT;
    e->kind = kinds[tag];
    e->depth = kymo_call_state_depth(s);
    if (kymo_call_begins(e->kind)) {
        if (++e->depth > KYMO_CALL_DEPTH_MAX)
            return KYMO_E_CORRUPT;
        KYMO_TRY(read_function(g, &e->script));
        return kymo_vec_push(&s->scripts, e->script);
    }
    if (s->scripts.len == 0)
        return KYMO_E_CORRUPT;
    e->script = s->scripts.data[--s->scripts.len];
    return KYMO_OK;
}

/* Delivers what there is, also before something that makes no sense. */
static kymo_err decode_events(struct old_group *g, uint32_t thread, uint32_t count)
{
    kymo_decoder *d = g->decoder;
    kymo_err err = KYMO_OK;
    while (count && err == KYMO_OK) {
        uint32_t n = 0, most = count < KYMO_DECODER_CALLS ? count : KYMO_DECODER_CALLS;
        for (; n < most && (err = read_event(g, &d->calls.batch[n])) == KYMO_OK; n++) {
        }
        KYMO_TRY(kymo_deliver_calls(d, thread, n));
        count -= n;
    }
    return err == KYMO_E_CORRUPT || g->bytes.failed ? kymo_decode_malformed(d) : err;
}

static kymo_err decode_group(kymo_decoder *d, uint32_t thread, kymo_reader bytes, uint32_t count)
{
    if (d->handler->calls && !d->handler->call_count) {
        struct old_group g = {
            .decoder = d, .bytes = bytes, .process = d->thread_process.data[thread]};
        kymo_err err = decode_events(&g, thread, count);
        kymo_call_state_deinit(&g.state);
        kymo_vec_deinit(&g.functions);
        return err;
    }
    if (count > kymo_reader_left(&bytes)) /* an event has a byte at least */
        return kymo_decode_malformed(d);
    return kymo_count_calls(d, thread, count);
}

kymo_err kymo_decode_old_calls(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_rows head;
    if (!kymo_read_head(r, &head, sizeof head, &head.head_bytes))
        return kymo_decode_malformed(d);
    for (uint32_t i = 0; i < head.groups; i++) {
        uint32_t id = kymo_read_u32(r), count = kymo_read_u32(r), len = kymo_read_u32(r), thread;
        const void *bytes = kymo_read_bytes(r, len);
        if (bytes == NULL)
            return kymo_decode_malformed(d);
        if (kymo_id_map_find(&d->threads, 0, id, &thread))
            KYMO_TRY(decode_group(d, thread, kymo_reader_of(bytes, len), count));
        else
            d->damage.references += count;
        if (d->malformed)
            return KYMO_OK;
    }
    return KYMO_OK;
}
