/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/open_calls.h"

#include "kymo/trace_abi.h"
#include "recording/recording_calls.h"
#include "recording/recording_write_event.h"

/* Ends the calls of this depth and deeper. */
static void leave(struct kymo_open_calls_thread *t, uint32_t depth)
{
    while (t->calls.len && t->calls.data[t->calls.len - 1].depth >= depth)
        t->calls.len--;
}

static kymo_err find_thread(struct kymo_open_calls *open, uint32_t thread,
                            struct kymo_open_calls_thread **out)
{
    while (open->threads.len <= thread)
        KYMO_TRY(kymo_vec_push(&open->threads, (struct kymo_open_calls_thread){.time_ns = 0}));
    *out = &open->threads.data[thread];
    return KYMO_OK;
}

static kymo_err take(struct kymo_open_calls_thread *t, const kymo_event_call *e)
{
    if (e->time_ns > t->time_ns)
        t->time_ns = e->time_ns;
    if (kymo_call_begins(e->kind) || kymo_call_ends(e->kind))
        leave(t, e->depth);
    else if (e->kind == KYMO_TRACE_STOP)
        leave(t, 0);
    return kymo_call_begins(e->kind)
               ? kymo_vec_push(&t->calls, (struct kymo_open_call){e->script, e->depth})
               : KYMO_OK;
}

kymo_err kymo_open_calls_take(struct kymo_open_calls *open, uint32_t thread,
                              const kymo_event_call *e)
{
    struct kymo_open_calls_thread *t;
    KYMO_TRY(find_thread(open, thread, &t));
    return take(t, e);
}

kymo_err kymo_open_calls_read(struct kymo_open_calls *open, const kymo_event_raw_calls *group,
                              uint64_t *count)
{
    kymo_event_call events[64];
    struct kymo_open_calls_thread *t;
    kymo_err err = KYMO_OK;
    KYMO_TRY(find_thread(open, group->thread, &t));
    kymo_call_reader_begin(&open->reader, &t->state, group);
    for (uint32_t n = 1; n && err == KYMO_OK;) {
        err = kymo_call_reader_next(&open->reader, events, KYMO_ARRAY_LEN(events), &n);
        for (uint32_t i = 0; i < n; i++)
            KYMO_TRY(take(t, &events[i]));
        if (count)
            *count += n;
    }
    return err == KYMO_E_CORRUPT ? KYMO_OK : err;
}

kymo_err kymo_open_calls_put(const struct kymo_open_calls *open, uint32_t thread, uint64_t from_ns,
                             kymo_recording_writer *w)
{
    KYMO_VEC(kymo_event_call) events = {0};
    kymo_err err = KYMO_OK;
    if (thread >= open->threads.len)
        return KYMO_OK;
    const struct kymo_open_calls_thread *t = &open->threads.data[thread];
    for (size_t i = 0; i < t->calls.len && err == KYMO_OK; i++) {
        const kymo_event_call e = {.time_ns = t->time_ns > from_ns ? t->time_ns : from_ns,
                                   .script = t->calls.data[i].script,
                                   .depth = t->calls.data[i].depth,
                                   .kind = KYMO_TRACE_OPEN};
        err = kymo_vec_push(&events, e);
    }
    if (err == KYMO_OK && (events.len || t->state.is_known))
        err = kymo_writer_put_open_calls(w, thread, events.data, (uint32_t)events.len, &t->state);
    kymo_vec_deinit(&events);
    return err;
}

void kymo_open_calls_forget(struct kymo_open_calls *open, uint32_t thread)
{
    if (thread >= open->threads.len)
        return;
    kymo_vec_deinit(&open->threads.data[thread].calls);
    kymo_call_state_deinit(&open->threads.data[thread].state);
}

void kymo_open_calls_deinit(struct kymo_open_calls *open)
{
    for (uint32_t i = 0; i < open->threads.len; i++)
        kymo_open_calls_forget(open, i);
    kymo_vec_deinit(&open->threads);
}
