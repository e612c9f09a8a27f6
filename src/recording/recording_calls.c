/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/recording_calls.h"

#include "kymo/trace_abi.h"
#include "recording/recording_format.h"

/* Leaves the calls of this depth and deeper. */
static void leave(struct kymo_call_stack *s, uint32_t depth)
{
    if (depth == 0)
        depth = 1;
    if (depth - 1 < s->base || depth - 1 > kymo_call_stack_depth(s))
        kymo_call_stack_clear(s, depth - 1);
    else
        s->scripts.len = depth - 1 - s->base;
}

kymo_err kymo_call_stack_apply(struct kymo_call_stack *s, const kymo_event_call *e)
{
    if (kymo_call_begins(e->kind) || kymo_call_ends(e->kind))
        leave(s, e->depth);
    if (kymo_call_begins(e->kind))
        return kymo_vec_push(&s->scripts, e->script);
    if (e->kind == KYMO_TRACE_STOP)
        kymo_call_stack_clear(s, 0);
    return KYMO_OK;
}

void kymo_call_stack_deinit(struct kymo_call_stack *s)
{
    kymo_vec_deinit(&s->scripts);
}

/* ---- reading ---- */

#define TAG_MASK ((1u << KYMO_FILE_CALL_TAG_BITS) - 1)

/* Of an event of the usual length: two bytes of time and tag, one of its function's place. */
#define USUAL_BYTES_MAX 3u
#define USUAL_NS_MAX ((1u << (14 - KYMO_FILE_CALL_TAG_BITS)) - 1)
#define PLACE_MAX 0x7fu

void kymo_call_reader_begin(struct kymo_call_reader *c)
{
    kymo_call_stack_clear(&c->stack, 0);
    c->functions.len = 0;
    c->time_ns = 0;
}

/* The event's function: of the file, or from the group's list. */
static kymo_err read_function(struct kymo_call_reader *c, kymo_reader *r, uint32_t *script)
{
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
    *script = (uint32_t)id;
    if (c->function && id != KYMO_EVENT_NONE)
        KYMO_TRY(c->function(c->ctx, (uint32_t)id, script));
    return kymo_vec_push(&c->functions, *script);
}

static kymo_err read_general(struct kymo_call_reader *c, kymo_reader *r, kymo_event_call *e)
{
    uint64_t kind = kymo_read_uleb(r), depth = kymo_read_uleb(r), missing = kymo_read_uleb(r);
    if (kind > KYMO_TRACE_STOP || depth > KYMO_EVENT_CALL_DEPTH_MAX || missing > UINT32_MAX)
        return KYMO_E_CORRUPT;
    *e = (kymo_event_call){
        .depth = (uint32_t)depth, .kind = (uint32_t)kind, .missing = (uint32_t)missing};
    KYMO_TRY(read_function(c, r, &e->script));
    return kymo_call_stack_apply(&c->stack, e);
}

/* The kinds of events whose depth follows from those before. */
static const uint8_t kinds[] = {
    [KYMO_FILE_CALL_RETURN] = KYMO_TRACE_RETURN, [KYMO_FILE_CALL_YIELD] = KYMO_TRACE_YIELD,
    [KYMO_FILE_CALL_UNWIND] = KYMO_TRACE_UNWIND, [KYMO_FILE_CALL_CALL] = KYMO_TRACE_CALL,
    [KYMO_FILE_CALL_RESUME] = KYMO_TRACE_RESUME,
};

/* The event without its time; applies it to the stack. */
static kymo_err read_event(struct kymo_call_reader *c, kymo_reader *r, uint32_t tag,
                           kymo_event_call *e)
{
    struct kymo_call_stack *s = &c->stack;
    if (tag == KYMO_FILE_CALL_GENERAL)
        return read_general(c, r, e);
    if (tag >= KYMO_ARRAY_LEN(kinds))
        return KYMO_E_CORRUPT;
    *e = (kymo_event_call){.kind = kinds[tag], .depth = kymo_call_stack_depth(s)};
    if (kymo_call_begins(e->kind)) {
        if (++e->depth > KYMO_EVENT_CALL_DEPTH_MAX)
            return KYMO_E_CORRUPT;
        KYMO_TRY(read_function(c, r, &e->script));
        return kymo_vec_push(&s->scripts, e->script);
    }
    if (s->scripts.len == 0)
        return KYMO_E_CORRUPT;
    e->script = s->scripts.data[--s->scripts.len];
    return KYMO_OK;
}

static kymo_err read_any(struct kymo_call_reader *c, kymo_reader *r, kymo_event_call *e)
{
    uint64_t word = kymo_read_uleb(r);
    uint64_t delta_ns = word >> KYMO_FILE_CALL_TAG_BITS;
    KYMO_TRY(read_event(c, r, (uint32_t)word & TAG_MASK, e));
    if (r->failed || delta_ns > KYMO_FILE_TIME_MAX - c->time_ns)
        return KYMO_E_CORRUPT;
    c->time_ns += delta_ns;
    e->time_ns = c->time_ns;
    return KYMO_OK;
}

/* What most events are: a time of two bytes, and a function of one if a call begins. Stops before
 * what is not. Returns how many it read.
 *
 * What the loop needs is in local variables, which no event that it writes can change: so it stays
 * in registers. */
static uint32_t read_usual(struct kymo_call_reader *c, kymo_reader *r,
                           kymo_event_call *restrict events, uint32_t most)
{
    struct kymo_call_stack *s = &c->stack;
    uint32_t *const bottom = s->scripts.data;
    if (bottom == NULL)
        return 0; /* the first call makes the stack */
    const size_t depth_left = KYMO_EVENT_CALL_DEPTH_MAX - s->base;
    const uint32_t *const full =
        bottom + (s->scripts.cap < depth_left ? s->scripts.cap : depth_left);
    const uint32_t *const functions = c->functions.data;
    const size_t places = c->functions.len < PLACE_MAX ? c->functions.len : PLACE_MAX;
    const size_t room = (size_t)(r->end - r->at) / USUAL_BYTES_MAX;
    if (most > room)
        most = (uint32_t)room;
    if (c->time_ns > KYMO_FILE_TIME_MAX - (uint64_t)most * USUAL_NS_MAX)
        return 0;
    const unsigned char *at = r->at;
    uint32_t *top = bottom + s->scripts.len;
    uint32_t depth = kymo_call_stack_depth(s), n = 0;
    uint64_t time_ns = c->time_ns;
    for (; n < most; n++) {
        uint32_t word = at[0] | (uint32_t)at[1] << 8, tag = word & TAG_MASK;
        kymo_event_call *e = &events[n];
        if ((word & 0x8080) != 0x80 || tag > KYMO_FILE_CALL_RESUME)
            break;
        if (tag >= KYMO_FILE_CALL_CALL) {
            uint32_t place = at[2] - 1u;
            if (place >= places || top >= full)
                break;
            e->script = *top++ = functions[place];
            e->depth = ++depth;
            at += 3;
        } else {
            if (top == bottom)
                break;
            e->script = *--top;
            e->depth = depth--;
            at += 2;
        }
        time_ns += (word >> 8 << 7 | (word & 0x7f)) >> KYMO_FILE_CALL_TAG_BITS;
        e->time_ns = time_ns;
        e->kind = kinds[tag];
        e->missing = 0;
    }
    s->scripts.len = (size_t)(top - bottom);
    r->at = at;
    c->time_ns = time_ns;
    return n;
}

kymo_err kymo_call_reader_next(struct kymo_call_reader *c, kymo_reader *r, kymo_event_call *events,
                               uint32_t most, uint32_t *count)
{
    kymo_err err = KYMO_OK;
    for (*count = 0; *count < most && err == KYMO_OK;) {
        *count += read_usual(c, r, events + *count, most - *count);
        if (*count < most) {
            err = read_any(c, r, events + *count);
            *count += err == KYMO_OK;
        }
    }
    return err;
}

void kymo_call_reader_deinit(struct kymo_call_reader *c)
{
    kymo_call_stack_deinit(&c->stack);
    kymo_vec_deinit(&c->functions);
}
