/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_calls.c - chunks of traced calls, in groups of one thread: as a tracer wrote
 * them, or from events.
 */
#include "recording/recording_write_event.h"

#include <string.h>

#define BATCH 256u

void kymo_writer_init_calls(kymo_recording_writer *w)
{
    kymo_bytes_init(&w->calls.bytes, KYMO_CHUNK_LENGTH_MAX);
}

void kymo_writer_deinit_calls(kymo_recording_writer *w)
{
    kymo_bytes_deinit(&w->calls.bytes);
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

static kymo_err put_group(kymo_recording_writer *w, const kymo_event_raw_calls *e)
{
    static const struct kymo_file_rows no_head;
    struct kymo_pending_calls *p = &w->calls;
    const struct kymo_call_bytes *calls = &e->calls;
    const struct kymo_file_call_group group = {e->thread, calls->len, e->first_script, 0,
                                               calls->span};
    if (p->groups && p->bytes.len + sizeof group + calls->len > w->pending_bytes)
        KYMO_TRY(kymo_writer_close_calls(w));
    if (p->groups == 0) {
        kymo_bytes_clear(&p->bytes);
        KYMO_TRY(kymo_bytes_append(&p->bytes, &no_head, sizeof no_head));
    }
    KYMO_TRY(kymo_bytes_append(&p->bytes, &group, sizeof group));
    KYMO_TRY(kymo_bytes_append(&p->bytes, calls->bytes, calls->len));
    p->groups++;
    return KYMO_OK;
}

kymo_err kymo_writer_put_calls(kymo_recording_writer *w, const kymo_event_raw_calls *e)
{
    kymo_event_raw_calls group = *e;
    struct kymo_call_bytes *part = &group.calls;
    uint32_t most = (uint32_t)w->pending_bytes, left = part->len;
    while (left > most && (part->len = kymo_calls_part(part->bytes, left, most)) < left) {
        KYMO_TRY(put_group(w, &group));
        left -= part->len;
        part->bytes = (const char *)part->bytes + part->len;
        part->span.position += part->len;
    }
    part->len = left;
    return put_group(w, &group);
}

/* ---- as a tracer wrote them ---- */

static kymo_err keep_open_calls(kymo_recording_writer *w, const kymo_event_raw_calls *e)
{
    return kymo_open_calls_read(&w->kept.open_calls, e, NULL);
}

kymo_err kymo_recording_write_raw_calls(kymo_recording_writer *w, const kymo_event_raw_calls *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    KYMO_KEEP(w, kymo_kept_need_thread(w, e->thread));
    KYMO_KEEP(w, keep_open_calls(w, e));
    kymo_err err = kymo_writer_put_calls(w, e);
    return err == KYMO_OK ? KYMO_OK : kymo_chunk_out_fail(&w->out, err);
}

/* ---- from events ---- */

/* In ns, and as scripts: the number of a function is not 0. end: the position behind the bytes. */
static kymo_event_raw_calls describe(uint32_t thread, const unsigned char *bytes, uint32_t len,
                                     uint64_t end)
{
    return (kymo_event_raw_calls){.thread = thread,
                                  .first_script = UINT32_MAX,
                                  .calls = {bytes,
                                            len,
                                            {.position = end - len,
                                             .ns_per_tick = 1ull << 32,
                                             .not_after_ns = KYMO_FILE_TIME_MAX}}};
}

static unsigned char *put_event(unsigned char *to, struct kymo_call_place *at,
                                const kymo_event_call *call)
{
    int is_call = kymo_call_begins(call->kind) || kymo_call_ends(call->kind);
    const struct kymo_call_event e = {call->time_ns, call->kind, call->depth,
                                      is_call ? call->script + 1 : call->missing};
    return kymo_call_put(to, at, &e, kymo_call_ends(call->kind));
}

static int is_possible(const kymo_event_call *e)
{
    int is_call = kymo_call_begins(e->kind) || kymo_call_ends(e->kind);
    return e->kind <= KYMO_TRACE_STOP && e->time_ns <= KYMO_FILE_TIME_MAX &&
           (!is_call || e->depth - 1 < KYMO_CALL_DEPTH_MAX);
}

/* Writes the next events, BATCH at most. Returns the bytes. */
static uint32_t put_events(unsigned char *bytes, const kymo_event_call *calls, uint32_t count)
{
    struct kymo_call_place at = {.clock = 0};
    unsigned char *to = bytes;
    for (uint32_t i = 0; i < count; i++)
        to = put_event(to, &at, &calls[i]);
    return (uint32_t)(to - bytes);
}

kymo_err kymo_recording_write_calls(kymo_recording_writer *w, const kymo_event_calls *e)
{
    unsigned char bytes[BATCH * KYMO_CALL_BYTES_MAX];
    for (uint32_t i = 0; i < e->count; i++)
        if (!is_possible(&e->calls[i]))
            return KYMO_E_INVALID;
    for (uint32_t i = 0; i < e->count; i += BATCH) {
        uint32_t n = e->count - i < BATCH ? e->count - i : BATCH;
        uint32_t len = put_events(bytes, e->calls + i, n);
        /* A byte that nobody has is in between: each group can be read without what is before. */
        w->calls.position += len + 1ull;
        kymo_event_raw_calls raw = describe(e->thread, bytes, len, w->calls.position);
        KYMO_TRY(kymo_recording_write_raw_calls(w, &raw));
    }
    return KYMO_OK;
}

kymo_err kymo_writer_put_open_calls(kymo_recording_writer *w, uint32_t thread,
                                    const kymo_event_call *calls, uint32_t count,
                                    const struct kymo_call_state *then)
{
    unsigned char bytes[BATCH * KYMO_CALL_BYTES_MAX + KYMO_CALL_SYNC_BYTES];
    uint32_t done = 0;
    do {
        uint32_t n = count - done < BATCH ? count - done : BATCH;
        uint32_t len = n ? put_events(bytes, calls + done, n) : 0;
        uint64_t end = 0;
        done += n;
        if (done == count && then->is_known) {
            (void)kymo_call_put_sync(bytes + len, then->clock, kymo_call_state_depth(then));
            len += KYMO_CALL_SYNC_BYTES;
            end = then->position;
        }
        kymo_event_raw_calls raw = describe(thread, bytes, len, end);
        KYMO_TRY(kymo_writer_put_calls(w, &raw));
    } while (done < count);
    return KYMO_OK;
}
