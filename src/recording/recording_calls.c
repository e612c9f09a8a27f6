/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/recording_calls.h"

#include <string.h>

#include "recording/recording_format.h"

/* More is no clock. */
#define NS_PER_TICK_MAX (1ull << 40)

void kymo_call_state_deinit(struct kymo_call_state *s)
{
    kymo_vec_deinit(&s->scripts);
    *s = (struct kymo_call_state){.base = 0};
}

/* Nothing is known but that the thread is this deep in calls. */
static void forget_calls(struct kymo_call_state *s, uint32_t depth)
{
    s->base = depth;
    s->scripts.len = 0;
}

void kymo_call_state_set_depth(struct kymo_call_state *s, uint32_t depth)
{
    if (depth < s->base || depth > kymo_call_state_depth(s))
        forget_calls(s, depth);
    else
        s->scripts.len = depth - s->base;
}

/* ---- groups ---- */

int kymo_read_call_group(kymo_reader *r, kymo_event_raw_calls *group)
{
    struct kymo_file_call_group g;
    const void *head = kymo_read_bytes(r, sizeof g);
    if (!head)
        return 0;
    memcpy(&g, head, sizeof g);
    *group = (kymo_event_raw_calls){
        g.thread, g.first_script, {kymo_read_bytes(r, g.bytes), g.bytes, g.span}};
    return group->calls.bytes != NULL;
}

/* How many bytes follow a unit with this tag. */
static const uint8_t following[] = {
    [KYMO_TRACE_CALL] = KYMO_CALL_BEGIN_BYTES - 2,
    [KYMO_TRACE_RESUME] = KYMO_CALL_BEGIN_BYTES - 2,
    [KYMO_CALL_TAG_OTHER] = KYMO_CALL_OTHER_BYTES - 2,
    [KYMO_CALL_TAG_SYNC] = KYMO_CALL_SYNC_BYTES - 2,
};

uint32_t kymo_calls_part(const void *bytes, uint32_t len, uint32_t most)
{
    kymo_reader r = kymo_reader_of(bytes, len);
    uint32_t part = 0;
    while (kymo_reader_left(&r) > 0) {
        kymo_reader_skip(&r, following[kymo_read_u16(&r) & KYMO_CALL_TAG_MASK]);
        uint32_t end = len - (uint32_t)kymo_reader_left(&r);
        if (r.failed || (end > most && part > 0))
            break;
        part = end;
    }
    return r.failed ? len : part;
}

void kymo_call_reader_forget(struct kymo_call_reader *c)
{
    memset(c->recent, 0, sizeof c->recent);
}

void kymo_call_reader_begin(struct kymo_call_reader *c, struct kymo_call_state *state,
                            const kymo_event_raw_calls *group)
{
    if (group->first_script != c->group.first_script)
        kymo_call_reader_forget(c);
    c->state = state;
    c->group = *group;
    c->bytes = kymo_reader_of(group->calls.bytes, group->calls.len);
    if (group->calls.span.position != state->position)
        state->is_known = 0;
    state->position = group->calls.span.position + group->calls.len;
}

/* ---- one event of any kind ---- */

/* Never before the event before. */
KYMO_INLINE uint64_t time_of(const struct kymo_call_span *g, uint64_t clock, uint64_t before_ns)
{
    __int128 since_ns = (__int128)(int64_t)(clock - g->clock) * (int64_t)g->ns_per_tick >> 32;
    __int128 ns = since_ns + (int64_t)g->clock_ns;
    if (ns > (int64_t)g->not_after_ns)
        return g->not_after_ns > before_ns ? g->not_after_ns : before_ns;
    return ns > (int64_t)before_ns ? (uint64_t)ns : before_ns;
}

static kymo_err find_script(struct kymo_call_reader *c, uint32_t number, uint32_t *script)
{
    struct kymo_recent_script *recent = &c->recent[number % KYMO_SCRIPTS_RECENT];
    if (number == 0 || recent->number == number) {
        *script = number ? recent->script : KYMO_EVENT_NONE;
        return KYMO_OK;
    }
    *script = c->group.first_script + number;
    if (c->script)
        KYMO_TRY(c->script(c->ctx, *script, script));
    /* Where it is not known it may be later. */
    if (*script != KYMO_EVENT_NONE)
        *recent = (struct kymo_recent_script){number, *script};
    return KYMO_OK;
}

static kymo_err begin_call(struct kymo_call_reader *c, uint32_t number, kymo_event_call *e)
{
    e->depth = kymo_call_state_depth(c->state) + 1;
    if (e->depth > KYMO_CALL_DEPTH_MAX)
        return KYMO_E_CORRUPT;
    KYMO_TRY(find_script(c, number, &e->script));
    return kymo_vec_push(&c->state->scripts, e->script);
}

/* The call that runs ends. */
static kymo_err end_call(struct kymo_call_reader *c, kymo_event_call *e)
{
    struct kymo_call_state *s = c->state;
    e->depth = kymo_call_state_depth(s);
    if (e->depth == 0)
        return KYMO_E_CORRUPT;
    e->script = s->scripts.len ? s->scripts.data[s->scripts.len - 1] : KYMO_EVENT_NONE;
    kymo_call_state_set_depth(s, e->depth - 1);
    return KYMO_OK;
}

/* Behind its first unit, and without its time. */
static kymo_err read_other(struct kymo_call_reader *c, uint32_t kind, kymo_event_call *e)
{
    c->state->clock += kymo_read_u16(&c->bytes);
    uint32_t number = kymo_read_u32(&c->bytes);
    if (c->bytes.failed || kind > KYMO_TRACE_STOP)
        return KYMO_E_CORRUPT;
    e->kind = kind;
    if (kymo_call_begins(kind))
        return begin_call(c, number, e);
    if (kymo_call_ends(kind)) {
        KYMO_TRY(end_call(c, e));
        return find_script(c, number, &e->script);
    }
    e->missing = number;
    e->script = KYMO_EVENT_NONE;
    if (kind == KYMO_TRACE_STOP)
        kymo_call_state_set_depth(c->state, 0);
    if (kind == KYMO_TRACE_GAP)
        c->state->is_known = 0;
    return KYMO_OK;
}

static kymo_err read_sync(struct kymo_call_reader *c)
{
    uint64_t clock = kymo_read_u64(&c->bytes);
    uint32_t depth = kymo_read_u32(&c->bytes);
    if (c->bytes.failed || depth > KYMO_CALL_DEPTH_MAX)
        return KYMO_E_CORRUPT;
    if (c->state->is_known)
        kymo_call_state_set_depth(c->state, depth);
    else
        forget_calls(c->state, depth);
    c->state->clock = clock;
    c->state->is_known = 1;
    return KYMO_OK;
}

/* Up to the event's end. *has_event 0: the group ends before one. */
static kymo_err read_any(struct kymo_call_reader *c, kymo_event_call *e, int *has_event)
{
    struct kymo_call_state *s = c->state;
    *e = (kymo_event_call){.missing = 0};
    for (*has_event = 0; !*has_event && kymo_reader_left(&c->bytes) > 0;) {
        uint32_t unit = kymo_read_u16(&c->bytes);
        uint32_t tag = unit & KYMO_CALL_TAG_MASK, more = unit >> KYMO_CALL_TAG_BITS;
        if (tag == KYMO_CALL_TAG_SYNC) {
            KYMO_TRY(read_sync(c));
        } else if (!s->is_known) {
            kymo_reader_skip(&c->bytes, following[tag]);
        } else if (tag == KYMO_CALL_TAG_TIME) {
            s->clock += (uint64_t)more << KYMO_CALL_TICK_BITS;
        } else {
            *has_event = 1;
            e->kind = tag;
            if (tag != KYMO_CALL_TAG_OTHER)
                s->clock += more;
            KYMO_TRY(tag == KYMO_CALL_TAG_OTHER ? read_other(c, more, e)
                     : kymo_call_begins(tag)    ? begin_call(c, kymo_read_u16(&c->bytes), e)
                                                : end_call(c, e));
        }
        if (c->bytes.failed)
            return KYMO_E_CORRUPT;
    }
    if (*has_event)
        e->time_ns = s->time_ns = time_of(&c->group.calls.span, s->clock, s->time_ns);
    return KYMO_OK;
}

/* ---- what most events are ---- */

/* How many events can follow that are within a unit's ticks of each other, and whose times need no
 * look at what they must lie between, nor more than 64 bits. */
static uint64_t regular_times(const struct kymo_call_reader *c)
{
    const struct kymo_call_span *g = &c->group.calls.span;
    const struct kymo_call_state *s = c->state;
    const uint64_t ticks = s->clock - g->clock, ticks_end = 1ull << 31;
    if (g->ns_per_tick == 0 || g->ns_per_tick > 1ull << 32 || ticks >= ticks_end)
        return 0;
    uint64_t now_ns = g->clock_ns + (ticks * g->ns_per_tick >> 32);
    if (now_ns < s->time_ns || now_ns > g->not_after_ns)
        return 0;
    /* Less than 2^31 ns, so less than 2^63. */
    uint64_t left_ns = g->not_after_ns - now_ns, most_ns = (1u << 31) - 1;
    uint64_t left = ((left_ns < most_ns ? left_ns : most_ns) << 32) / g->ns_per_tick;
    return (left < ticks_end - ticks ? left : ticks_end - ticks) / KYMO_CALL_TICKS_END;
}

/* A call of a function that was called a moment ago, or the end of a known call. Stops before what
 * is not. Returns how many it read.
 *
 * What the loop needs is in local variables, which no event that it writes can change: so it stays
 * in registers. */
static uint32_t read_usual(struct kymo_call_reader *c, kymo_event_call *restrict events,
                           uint32_t most)
{
    struct kymo_call_state *s = c->state;
    uint32_t *const bottom = s->scripts.data;
    if (bottom == NULL || !s->is_known)
        return 0; /* the first call makes the stack */
    const size_t depth_left = KYMO_CALL_DEPTH_MAX - s->base;
    const uint32_t *const full =
        bottom + (s->scripts.cap < depth_left ? s->scripts.cap : depth_left);
    const size_t room = kymo_reader_left(&c->bytes) / KYMO_CALL_BEGIN_BYTES;
    const uint64_t regular = regular_times(c);
    const uint64_t clock_ns = c->group.calls.span.clock_ns,
                   ns_per_tick = c->group.calls.span.ns_per_tick;
    const struct kymo_recent_script *const recent = c->recent;
    const unsigned char *at = c->bytes.at;
    uint32_t *top = bottom + s->scripts.len;
    uint32_t depth = kymo_call_state_depth(s);
    uint64_t ticks = s->clock - c->group.calls.span.clock;
    kymo_event_call *e = events;
    if (most > room)
        most = (uint32_t)room;
    if (most > regular)
        most = (uint32_t)regular;
    for (const kymo_event_call *end = events + most; e < end; e++) {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        uint32_t tag = word & KYMO_CALL_TAG_MASK;
        if (tag < KYMO_CALL_TAG_OTHER) {
            const struct kymo_recent_script *f = &recent[(word >> 16) % KYMO_SCRIPTS_RECENT];
            if (f->number != word >> 16 || f->number == 0 || top >= full)
                break;
            e->script = *top++ = f->script;
            e->depth = ++depth;
            at += KYMO_CALL_BEGIN_BYTES;
        } else {
            if (!kymo_call_ends(tag) || top == bottom)
                break;
            e->script = *--top;
            e->depth = depth--;
            at += KYMO_CALL_END_BYTES;
        }
        ticks += (word & 0xffff) >> KYMO_CALL_TAG_BITS;
        e->time_ns = clock_ns + (ticks * ns_per_tick >> 32);
        e->kind = tag;
        e->missing = 0;
    }
    if (e > events)
        s->time_ns = e[-1].time_ns;
    s->scripts.len = (size_t)(top - bottom);
    s->clock = c->group.calls.span.clock + ticks;
    c->bytes.at = at;
    return (uint32_t)(e - events);
}

/* ---- all ---- */

kymo_err kymo_call_reader_next(struct kymo_call_reader *c, kymo_event_call *events, uint32_t most,
                               uint32_t *count)
{
    struct kymo_call_state *s = c->state;
    const struct kymo_call_span *g = &c->group.calls.span;
    kymo_err err = KYMO_OK;
    int has_event = 1;
    *count = 0;
    if (g->ns_per_tick > NS_PER_TICK_MAX || g->clock_ns > KYMO_FILE_TIME_MAX ||
        g->not_after_ns > KYMO_FILE_TIME_MAX)
        err = KYMO_E_CORRUPT;
    else if (s->time_ns < g->not_before_ns && g->not_before_ns <= g->not_after_ns)
        s->time_ns = g->not_before_ns;
    while (*count < most && has_event && err == KYMO_OK) {
        *count += read_usual(c, events + *count, most - *count);
        if (*count == most)
            break;
        err = read_any(c, events + *count, &has_event);
        *count += err == KYMO_OK && has_event;
    }
    if (err != KYMO_OK) {
        c->bytes.at = c->bytes.end;
        s->is_known = 0;
    }
    return err;
}
