/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - see trace.h.
 *
 * An event is mostly 2 or 4 bytes, as they come to lie in the file (buffer/call_units.h), and all
 * that is done for it is to read the clock and to store them: the tracer does that itself, by
 * kymo_trace_put, in the block that its thread's place names. Here is the slow way: a block that is
 * full, and everything that may be new: a thread, a forked child.
 *
 * Where the recorder does not keep up, short calls are left out, and counted. Where there is no
 * room at all an event is dropped, and the next one that finds room says how many are missing, and
 * how deep its thread is: so a reader knows which calls still run.
 */
#include "capture/trace.h"

#include <string.h>

#include "base/atomic.h"
#include "buffer/call_units.h"
#include "buffer/record.h"
#include "buffer/stream.h"
#include "capture/fork_child.h"
#include "capture/mark.h"
#include "capture/state.h"

static uint64_t stop_clock; /* when the tracer went last; atomic */

/* ---- the calling thread's place ----
 *
 * While events are put there (`until` is not 0) it knows more than the thread's call_place and
 * stream do. Its turn is compared before the thread's state is read, which may be of an earlier
 * recording. */

/* No event is put from here on, up to the next one of them all. */
static void take_over(struct kymo_capture_thread *t, struct kymo_stream_writer *w)
{
    if (kymo_trace_place.until == 0)
        return;
    kymo_trace_place.until = 0;
    w->used = kymo_trace_place.used;
    t->call_place = (struct kymo_call_place){kymo_trace_place.clock, kymo_trace_place.depth, 1};
}

/* Events are put behind what was written last, until the block is full. */
static void hand_over(const struct kymo_capture_thread *t, const struct kymo_stream_writer *w)
{
    kymo_trace_place.clock = t->call_place.clock;
    kymo_trace_place.used = w->used;
    kymo_trace_place.block = (unsigned char *)w->block;
    kymo_trace_place.published = &w->block->head;
    kymo_trace_place.until = w->room - KYMO_CALL_BEGIN_BYTES + 1;
}

static uint64_t clock_of(const struct kymo_capture_thread *t)
{
    return kymo_likely(!kymo_load_relaxed(t->other_clock)) ? kymo_clock_now(KYMO_CLOCK_TSC)
                                                           : kymo_process_clock(t->process);
}

/* Writes an event behind what was published, for which there is room. Returns its bytes. */
static uint32_t write_event(struct kymo_capture_thread *t, struct kymo_stream_writer *w,
                            const struct kymo_call_event *e)
{
    unsigned char *to = (unsigned char *)w->block + w->used;
    /* What is behind the begin of a block can be read without what is before it. */
    if (w->used == sizeof *w->block)
        t->call_place.is_known = 0;
    return (uint32_t)(kymo_call_put(to, &t->call_place, e, 0) - to);
}

static void put(struct kymo_capture_thread *t, struct kymo_stream_writer *w,
                const struct kymo_call_event *e)
{
    kymo_stream_publish(w, write_event(t, w, e));
}

/* Room for an event, and for the gap before it. */
static int make_room(struct kymo_capture_thread *t, struct kymo_stream_writer *w)
{
    if (kymo_mark_room(t, w, 2 * KYMO_CALL_BYTES_MAX))
        return 1;
    t->calls_missing++;
    kymo_count_loss(t->process, KYMO_LOSS_CALL);
    return 0;
}

static void tell_gap(struct kymo_capture_thread *t, struct kymo_stream_writer *w, uint64_t clock)
{
    put(t, w, &(struct kymo_call_event){clock, KYMO_TRACE_GAP, 0, t->calls_missing});
    t->calls_missing = 0;
}

/* The depth of the call that the event is about; 0: of none. */
static uint32_t count_depth(uint32_t kind)
{
    if (kind <= KYMO_TRACE_OPEN)
        return kymo_trace_place.depth < KYMO_CALL_DEPTH_MAX ? ++kymo_trace_place.depth : 0;
    return kymo_trace_place.depth ? kymo_trace_place.depth-- : 0;
}

/* ---- where the recorder does not keep up ----
 *
 * A call that begins and ends while nothing else happens in its thread is left out if it was short:
 * the fuller the blocks are, the longer that is. So its begin is held back until the next event of
 * the thread. If that is its end, it can be taken back: no reader has seen it, and its time is its
 * caller's. */
enum { FULL_FROM = 12, SHORT_SHIFT = 12, SHORT_SHIFT_MORE = 3 };

/* In ticks of the clock: some 2 us, then 10, 80, 600. 0: no call is short. */
static uint64_t short_ticks(const struct kymo_capture_process *p)
{
    uint32_t full = kymo_blocks_in_use(p->session, &p->plan);
    uint32_t more = full < FULL_FROM + 3 ? full - FULL_FROM : 3;
    return full < FULL_FROM ? 0 : 1ull << (SHORT_SHIFT + SHORT_SHIFT_MORE * more);
}

/* Whether the event ends the call whose begin is held back, and that was short. */
static int is_short(const struct kymo_capture_thread *t, const struct kymo_call_event *e)
{
    return t->call_held_bytes && kymo_call_ends(e->kind) && e->depth == t->call_place.depth &&
           e->clock - t->call_place.clock < short_ticks(t->process);
}

/* Holds the begin of a call back. */
static void hold(struct kymo_capture_thread *t, struct kymo_stream_writer *w,
                 const struct kymo_call_event *e)
{
    t->call_place_before = t->call_place;
    t->call_held_bytes = write_event(t, w, e);
    kymo_stream_hold(w, t->call_held_bytes);
}

static void release(struct kymo_capture_thread *t, struct kymo_stream_writer *w)
{
    if (t->call_held_bytes)
        kymo_stream_release(w);
    t->call_held_bytes = 0;
}

static void leave_out(struct kymo_capture_thread *t, struct kymo_stream_writer *w)
{
    kymo_stream_take_back(w, t->call_held_bytes);
    t->call_place = t->call_place_before;
    t->call_held_bytes = 0;
    kymo_count_loss(t->process, KYMO_LOSS_CALL_SHORT);
}

/* ---- events ---- */

static void tell_stop(struct kymo_capture_thread *t, uint64_t clock, uint32_t all)
{
    struct kymo_stream_writer *w = &t->streams[KYMO_STREAM_CALLS];
    take_over(t, w);
    release(t, w);
    if (make_room(t, w)) {
        if (t->calls_missing)
            tell_gap(t, w, clock);
        put(t, w, &(struct kymo_call_event){clock, KYMO_TRACE_STOP, 0, all});
    }
    t->traced_in = kymo_trace_place.turn = 0;
}

/* Any event: also of another kind, without room, behind a gap, long after the one before, at
 * another clock, too deep, or a return from nothing. */
static int trace_event(uint32_t kind, uint32_t function)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    /* In this order: see above. That of a forked child is wiped. */
    if (!t || kymo_trace_place.turn != kymo_load_relaxed(&kymo_trace_now.turn) ||
        t->traced_in != kymo_trace_place.turn)
        return KYMO_TRACE_IS_NEW;
    struct kymo_stream_writer *w = &t->streams[KYMO_STREAM_CALLS];
    if (kind >= KYMO_TRACE_GAP) {
        tell_stop(t, clock_of(t), 0);
        return 0;
    }
    take_over(t, w);
    const struct kymo_call_event e = {clock_of(t), kind, count_depth(kind), function};
    if (e.depth - 1 >= kymo_load_relaxed(&kymo_trace_now.depth_limit))
        return 0;
    if (is_short(t, &e)) {
        leave_out(t, w);
        return 0;
    }
    release(t, w);
    if (!make_room(t, w))
        return 0;
    if (t->calls_missing)
        tell_gap(t, w, e.clock);
    if (kind < KYMO_TRACE_OPEN && short_ticks(t->process)) {
        hold(t, w, &e);
        return 0;
    }
    put(t, w, &e);
    if (!short_ticks(t->process))
        hand_over(t, w);
    return 0;
}

/* ---- beginning and end ---- */

static struct kymo_trace_place *trace_begin(void)
{
    /* First: where another recording begins meanwhile, this is none of its turns. */
    uint32_t turn = kymo_load_acquire(&kymo_trace_now.turn);
    struct kymo_capture_thread *t = kymo_mark_thread();
    if (!t)
        return NULL;
    /* The tracer was stopped and has come back meanwhile. */
    if (t->traced_in)
        tell_stop(t, kymo_load_relaxed(&stop_clock), 0);
    /* What is missing of the turn before was counted. */
    t->calls_missing = 0;
    kymo_trace_place = (struct kymo_trace_place){.turn = turn, .other_clock = t->other_clock};
    t->traced_in = turn;
    kymo_or_relaxed(&t->process->session->tracer, KYMO_TRACER_CAME);
    return &kymo_trace_place;
}

static void trace_end(void)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    /* A thread that cannot be recorded may be the one that stops. */
    if (t) {
        uint64_t clock = clock_of(t);
        kymo_store_relaxed(&stop_clock, clock);
        tell_stop(t, clock, 1);
    }
    /* Pairs with the acquire in trace_begin. */
    kymo_add_acq_rel(&kymo_trace_now.turn, 1u);
}

static void trace_limit(uint32_t depth)
{
    kymo_store_relaxed(&kymo_trace_now.depth_limit,
                       depth && depth < KYMO_CALL_DEPTH_MAX ? depth : KYMO_CALL_DEPTH_MAX);
}

/* ---- functions ---- */

struct text {
    const char *at;
    uint32_t len;
};

static struct text text_of(const char *at, uint32_t len)
{
    return (struct text){at ? at : "", at ? len : 0};
}

static uint32_t trace_define(const struct kymo_trace_function *f)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    struct kymo_stream_writer *w;
    if (!t)
        return 0;
    struct text name = text_of(f->name, f->name_len), file = text_of(f->file, f->file_len);
    int is_cut = name.len > KYMO_FUNCTION_NAME_MAX || file.len > KYMO_FUNCTION_FILE_MAX;
    if (name.len > KYMO_FUNCTION_NAME_MAX)
        name.len = KYMO_FUNCTION_NAME_MAX;
    if (file.len > KYMO_FUNCTION_FILE_MAX) {
        file.at += file.len - KYMO_FUNCTION_FILE_MAX;
        file.len = KYMO_FUNCTION_FILE_MAX;
    }
    struct kymo_record_function *r;
    uint32_t size = (uint32_t)(sizeof *r + name.len + file.len + 7) & ~7u;
    r = kymo_mark_reserve(t, &w, size, KYMO_FRAME_BEGIN());
    uint32_t number =
        r ? kymo_add_relaxed(&t->process->functions, 1u) + 1 : KYMO_FUNCTION_NUMBER_MAX + 1;
    if (number > KYMO_FUNCTION_NUMBER_MAX) {
        if (r)
            kymo_claim_end(w);
        kymo_count_loss(t->process, KYMO_LOSS_FUNCTION);
        return 0;
    }
    *r = (struct kymo_record_function){
        .head = {kymo_process_clock(t->process), KYMO_RECORD_FUNCTION, (uint16_t)size, number},
        .first_line = f->first_line,
        .language = (uint16_t)f->language,
        .flags = is_cut ? KYMO_TRACE_NAME_CUT : 0,
        .name_len = (uint16_t)name.len,
        .file_len = (uint16_t)file.len,
    };
    memcpy(r + 1, name.at, name.len);
    memcpy((char *)(r + 1) + name.len, file.at, file.len);
    kymo_mark_publish(w, size);
    return number;
}

static void trace_name_thread(const char *name, uint32_t len)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    struct kymo_stream_writer *w;
    if (!t)
        return;
    len = len < KYMO_THREAD_NAME_MAX ? len : KYMO_THREAD_NAME_MAX;
    uint32_t size = (uint32_t)(sizeof(struct kymo_record) + len + 7) & ~7u;
    struct kymo_record *r = kymo_mark_reserve(t, &w, size, KYMO_FRAME_BEGIN());
    if (!r)
        return;
    *r = (struct kymo_record){kymo_process_clock(t->process), KYMO_RECORD_THREAD_NAME,
                              (uint16_t)size, len};
    if (len)
        memcpy(r + 1, name, len);
    kymo_mark_publish(w, size);
}

/* ---- the calls ---- */

static int trace_is_wanted(uint32_t language)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    return t && language == KYMO_TRACE_PYTHON &&
           t->process->session->flags & KYMO_SESSION_TRACE_PYTHON;
}

const struct kymo_trace_calls *kymo_trace_begin(uint32_t abi)
{
    static struct kymo_trace_calls calls = {
        .size = sizeof calls,
        .abi = KYMO_TRACE_ABI,
        .now = &kymo_trace_now,
        .is_wanted = trace_is_wanted,
        .define = trace_define,
        .event = trace_event,
        .begin = trace_begin,
        .end = trace_end,
        .limit = trace_limit,
        .name_thread = trace_name_thread,
    };
    struct kymo_capture_process *p = kymo_load_acquire(&kymo_process_state);
    if (!p)
        return NULL;
    if (abi != KYMO_TRACE_ABI) {
        if (p->session) /* a forked child may have none yet */
            kymo_or_relaxed(&p->session->tracer, KYMO_TRACER_OF_OTHER_VERSION);
        return NULL;
    }
    /* Set again by each caller: of one recording it never changes. */
    calls.epoch = &p->mark_epoch;
    return &calls;
}
