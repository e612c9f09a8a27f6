/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_calls.c - chunks of traced calls, in groups of one thread; recording_calls.h says
 * what is left out. An event takes two to four bytes.
 */
#include "recording/recording_write_event.h"

#include <string.h>

#include "kymo/trace_abi.h"
#include "recording/recording_write_rows.h"

/* Time, function and the four numbers of an event of any kind, 10 bytes each at most. */
#define CALL_BYTES_MAX 64u

void kymo_writer_init_calls(kymo_recording_writer *w)
{
    kymo_bytes_init(&w->calls.bytes, KYMO_CHUNK_LENGTH_MAX);
}

void kymo_writer_deinit_calls(kymo_recording_writer *w)
{
    kymo_bytes_deinit(&w->calls.bytes);
    kymo_call_stack_deinit(&w->calls.stack);
    kymo_id_map_deinit(&w->calls.functions);
}

void kymo_writer_drop_calls(kymo_recording_writer *w)
{
    kymo_bytes_clear(&w->calls.bytes);
    w->calls.groups = 0;
}

kymo_err kymo_writer_close_calls(kymo_recording_writer *w)
{
    struct kymo_pending_calls *p = &w->calls;
    if (p->groups == 0)
        return KYMO_OK;
    struct kymo_file_rows head = {.head_bytes = sizeof head, .groups = p->groups};
    memcpy(p->bytes.data, &head, sizeof head);
    kymo_err err =
        kymo_writer_put_chunk(w, KYMO_CHUNK_CALLS, &p->bytes, w->flags & KYMO_RECORDING_COMPRESS);
    kymo_writer_drop_calls(w);
    return err;
}

/* Begins a group for the thread, unless its group is open. */
static kymo_err open_group(struct kymo_pending_calls *p, uint32_t thread)
{
    static const struct kymo_file_rows no_head;
    if (p->groups && p->group.thread == thread)
        return KYMO_OK;
    if (p->groups == 0) {
        kymo_bytes_clear(&p->bytes);
        KYMO_TRY(kymo_bytes_append(&p->bytes, &no_head, sizeof no_head));
    }
    p->group = (struct kymo_file_call_group){.thread = thread};
    p->group_at = p->bytes.len;
    p->time_ns = 0;
    kymo_call_stack_clear(&p->stack, 0);
    kymo_id_map_deinit(&p->functions);
    memset(p->recent, 0, sizeof p->recent);
    p->groups++;
    return kymo_bytes_append(&p->bytes, &p->group, sizeof p->group);
}

/* By kind, where depth and function follow from the events before. */
static const uint8_t usual_tags[] = {
    [KYMO_TRACE_CALL] = KYMO_FILE_CALL_CALL,    [KYMO_TRACE_RESUME] = KYMO_FILE_CALL_RESUME,
    [KYMO_TRACE_OPEN] = KYMO_FILE_CALL_GENERAL, [KYMO_TRACE_RETURN] = KYMO_FILE_CALL_RETURN,
    [KYMO_TRACE_YIELD] = KYMO_FILE_CALL_YIELD,  [KYMO_TRACE_UNWIND] = KYMO_FILE_CALL_UNWIND,
    [KYMO_TRACE_GAP] = KYMO_FILE_CALL_GENERAL,  [KYMO_TRACE_STOP] = KYMO_FILE_CALL_GENERAL,
};

/* The tag that says the most of the event. */
static uint32_t tag_of(const struct kymo_pending_calls *p, const kymo_event_call *e)
{
    uint32_t depth = kymo_call_stack_depth(&p->stack);
    if (kymo_call_begins(e->kind)
            ? e->depth != depth + 1
            : e->depth != depth || p->stack.scripts.len == 0 ||
                  p->stack.scripts.data[p->stack.scripts.len - 1] != e->script)
        return KYMO_FILE_CALL_GENERAL;
    return usual_tags[e->kind];
}

/* A function by its place among those of the group, from 1; 0 and its number when it is new. */
static kymo_err put_function(struct kymo_pending_calls *p, unsigned char **to, uint32_t script)
{
    uint32_t at = script % KYMO_RECENT_FUNCTIONS;
    uint32_t place;
    if (p->recent[at].place && p->recent[at].script == script) {
        *to = kymo_put_uleb(*to, p->recent[at].place);
        return KYMO_OK;
    }
    if (kymo_id_map_find(&p->functions, 0, script, &place)) {
        *to = kymo_put_uleb(*to, place + 1ull);
    } else {
        *to = kymo_put_uleb(kymo_put_uleb(*to, 0), script);
        KYMO_TRY(kymo_id_map_add(&p->functions, 0, script, &place));
    }
    p->recent[at].script = script;
    p->recent[at].place = place + 1;
    return KYMO_OK;
}

/* What the tag says of the stack. */
static kymo_err apply(struct kymo_pending_calls *p, const kymo_event_call *e, uint32_t tag)
{
    if (tag == KYMO_FILE_CALL_GENERAL)
        return kymo_call_stack_apply(&p->stack, e);
    if (kymo_call_begins(e->kind))
        return kymo_vec_push(&p->stack.scripts, e->script);
    p->stack.scripts.len--;
    return KYMO_OK;
}

/* Writes the event's bytes, CALL_BYTES_MAX at most, behind those before. */
static kymo_err encode_call(struct kymo_pending_calls *p, const kymo_event_call *e,
                            unsigned char **to)
{
    uint32_t tag = tag_of(p, e);
    /* A thread's clock may be converted by other anchors than a moment ago. */
    uint64_t time_ns = e->time_ns > p->time_ns ? e->time_ns : p->time_ns;
    *to = kymo_put_uleb(*to, (time_ns - p->time_ns) << KYMO_FILE_CALL_TAG_BITS | tag);
    p->time_ns = time_ns;
    if (tag == KYMO_FILE_CALL_GENERAL) {
        *to = kymo_put_uleb(*to, e->kind);
        *to = kymo_put_uleb(*to, e->depth);
        *to = kymo_put_uleb(*to, e->missing);
    }
    if (tag == KYMO_FILE_CALL_GENERAL || kymo_call_begins(e->kind))
        KYMO_TRY(put_function(p, to, e->script));
    p->group.count++;
    return apply(p, e, tag);
}

/* What most events are, at *to, as far as there is room: a time of two bytes, and a function of one
 * if a call begins. Stops before what is not. Returns how many it wrote.
 *
 * What the loop needs is in local variables, which no byte that it writes can change: so it stays
 * in registers. */
static uint32_t encode_usual(struct kymo_pending_calls *p, const kymo_event_call *calls,
                             uint32_t count, unsigned char **to, const unsigned char *end)
{
    struct kymo_call_stack *s = &p->stack;
    uint32_t *const bottom = s->scripts.data;
    if (bottom == NULL)
        return 0; /* the first call makes the stack */
    uint32_t *top = bottom + s->scripts.len;
    const uint32_t *const full = bottom + s->scripts.cap;
    uint32_t depth = kymo_call_stack_depth(s), n = 0;
    uint64_t time_ns = p->time_ns;
    unsigned char *restrict at = *to;
    if (count > (size_t)(end - at) / 3)
        count = (uint32_t)((size_t)(end - at) / 3);
    for (; n < count; n++) {
        const kymo_event_call *e = &calls[n];
        uint64_t delta_ns = e->time_ns - time_ns;
        if (delta_ns - 0x10 >= 0x800 - 0x10)
            break;
        if (e->kind == KYMO_TRACE_CALL || e->kind == KYMO_TRACE_RESUME) {
            const struct kymo_recent_function *f = &p->recent[e->script % KYMO_RECENT_FUNCTIONS];
            if (f->script != e->script || f->place - 1 >= 0x7f || e->depth != depth + 1 ||
                top == full)
                break;
            at[2] = (unsigned char)f->place;
            *top++ = e->script;
            depth++;
        } else {
            if (!kymo_call_ends(e->kind) || e->depth != depth || top == bottom ||
                top[-1] != e->script)
                break;
            top--;
            depth--;
        }
        uint32_t word = (uint32_t)delta_ns << KYMO_FILE_CALL_TAG_BITS | usual_tags[e->kind];
        at[0] = (unsigned char)(word | 0x80);
        at[1] = (unsigned char)(word >> 7);
        at += kymo_call_begins(e->kind) ? 3 : 2;
        time_ns = e->time_ns;
    }
    s->scripts.len = (size_t)(top - bottom);
    *to = at;
    p->time_ns = time_ns;
    p->group.count += n;
    return n;
}

static kymo_err append(struct kymo_pending_calls *p, const unsigned char *bytes, size_t len)
{
    p->group.bytes += (uint32_t)len;
    memcpy(p->bytes.data + p->group_at, &p->group, sizeof p->group);
    return kymo_bytes_append(&p->bytes, bytes, len);
}

kymo_err kymo_writer_put_calls(kymo_recording_writer *w, const kymo_event_calls *e)
{
    struct kymo_pending_calls *p = &w->calls;
    unsigned char bytes[1024];
    for (uint32_t i = 0; i < e->count;) {
        unsigned char *to = bytes;
        KYMO_TRY(open_group(p, e->thread));
        /* Several at a time, up to where the chunk ends; at least one, if chunks are tiny. */
        size_t left = w->pending_bytes - p->bytes.len;
        size_t room = p->bytes.len + 2 * CALL_BYTES_MAX >= w->pending_bytes ? CALL_BYTES_MAX
                      : left < sizeof bytes                                 ? left
                                                                            : sizeof bytes;
        while (i < e->count && to + CALL_BYTES_MAX <= bytes + room) {
            i += encode_usual(p, e->calls + i, e->count - i, &to, bytes + room - CALL_BYTES_MAX);
            if (i < e->count)
                KYMO_TRY(encode_call(p, &e->calls[i++], &to));
        }
        KYMO_TRY(append(p, bytes, (size_t)(to - bytes)));
        if (p->bytes.len + CALL_BYTES_MAX >= w->pending_bytes)
            KYMO_TRY(kymo_writer_close_calls(w));
    }
    return KYMO_OK;
}

kymo_err kymo_recording_write_calls(kymo_recording_writer *w, const kymo_event_calls *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    for (uint32_t i = 0; i < e->count; i++)
        if (e->calls[i].kind > KYMO_TRACE_STOP || e->calls[i].depth > KYMO_EVENT_CALL_DEPTH_MAX)
            return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_thread(w, e->thread));
    for (uint32_t i = 0; w->kept.is_on && i < e->count; i++)
        KYMO_TRY(kymo_open_calls_take(&w->kept.open_calls, e->thread, &e->calls[i]));
    kymo_err err = kymo_writer_put_calls(w, e);
    return err == KYMO_OK ? KYMO_OK : kymo_chunk_out_fail(&w->out, err);
}
