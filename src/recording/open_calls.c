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

kymo_err kymo_open_calls_take(struct kymo_open_calls *open, uint32_t thread,
                              const kymo_event_call *e)
{
    while (open->threads.len <= thread)
        KYMO_TRY(kymo_vec_push(&open->threads, (struct kymo_open_calls_thread){.time_ns = 0}));
    struct kymo_open_calls_thread *t = &open->threads.data[thread];
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

kymo_err kymo_open_calls_put(const struct kymo_open_calls *open, uint32_t thread, uint64_t from_ns,
                             kymo_recording_writer *w)
{
    if (thread >= open->threads.len)
        return KYMO_OK;
    const struct kymo_open_calls_thread *t = &open->threads.data[thread];
    for (size_t i = 0; i < t->calls.len; i++) {
        const kymo_event_call e = {.time_ns = t->time_ns > from_ns ? t->time_ns : from_ns,
                                   .script = t->calls.data[i].script,
                                   .depth = t->calls.data[i].depth,
                                   .kind = KYMO_TRACE_OPEN};
        KYMO_TRY(kymo_writer_put_calls(w, &(kymo_event_calls){thread, 1, &e}));
    }
    return KYMO_OK;
}

void kymo_open_calls_forget(struct kymo_open_calls *open, uint32_t thread)
{
    if (thread < open->threads.len)
        kymo_vec_deinit(&open->threads.data[thread].calls);
}

void kymo_open_calls_deinit(struct kymo_open_calls *open)
{
    for (uint32_t i = 0; i < open->threads.len; i++)
        kymo_open_calls_forget(open, i);
    kymo_vec_deinit(&open->threads);
}
