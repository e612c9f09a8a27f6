/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_calls.c - traced calls, and the functions that they name.
 *
 * A function is told of in the stream of the thread that met it first, and may be called by another
 * thread a moment later. So of a live thread only those calls are read that were there when the lap
 * before began: that lap has read every function that they name. The last lap reads all functions
 * first.
 *
 * Calls are handed on as the bytes that they are (buffer/call_units.h), which nobody looks at
 * before the file is read.
 */
#include <string.h>

#include "base/atomic.h"
#include "buffer/drain_state.h"
#include "buffer/record.h"
#include "kymo/trace_abi.h"

/* ---- functions ---- */

static int is_known(const kymo_drain *d, uint32_t number)
{
    return number / 8 < d->functions.len && d->functions.data[number / 8] >> number % 8 & 1;
}

static kymo_err make_known(kymo_drain *d, uint32_t number)
{
    while (d->functions.len <= number / 8)
        KYMO_TRY(kymo_vec_push(&d->functions, (uint8_t)0));
    d->functions.data[number / 8] |= (uint8_t)(1u << number % 8);
    return KYMO_OK;
}

kymo_err kymo_drain_read_function(kymo_drain *d, const char *at, uint32_t size)
{
    struct kymo_record_function head;
    char bytes[KYMO_FUNCTION_NAME_MAX + KYMO_FUNCTION_FILE_MAX];
    memcpy(&head, at, size < sizeof head ? 0 : sizeof head);
    uint32_t number = head.head.stack;
    if (size < sizeof head || head.name_len > KYMO_FUNCTION_NAME_MAX ||
        head.file_len > KYMO_FUNCTION_FILE_MAX ||
        (uint32_t)head.name_len + head.file_len > size - sizeof head || number == 0 ||
        number > KYMO_FUNCTION_NUMBER_MAX || is_known(d, number)) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    memcpy(bytes, at + sizeof head, (size_t)head.name_len + head.file_len);
    d->noticed[KYMO_LOSS_FUNCTION] += head.flags & KYMO_TRACE_NAME_CUT;
    KYMO_TRY(make_known(d, number));
    const struct kymo_drain_function f = {
        .number = number,
        .language = head.language,
        .first_line = head.first_line,
        .name_len = head.name_len,
        .file_len = head.file_len,
        .name = bytes,
        .file = bytes + head.name_len,
    };
    return d->sink.function ? d->sink.function(d->sink.context, &f) : KYMO_OK;
}

kymo_err kymo_drain_read_name(kymo_drain *d, uint32_t thread, const char *at, uint32_t size)
{
    struct kymo_record head;
    char name[KYMO_THREAD_NAME_MAX];
    memcpy(&head, at, sizeof head);
    if (head.stack > sizeof name || head.stack > size - sizeof head) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    memcpy(name, at + sizeof head, head.stack);
    return d->sink.thread_name
               ? d->sink.thread_name(d->sink.context, thread, kymo_drain_time_ns(d, head.clock),
                                     name, head.stack)
               : KYMO_OK;
}

/* ---- calls ---- */

int kymo_drain_has_calls(const kymo_drain *d, uint32_t slot)
{
    const struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, slot);
    return kymo_load_relaxed(&shared->streams[KYMO_STREAM_CALLS].first) != 0;
}

void kymo_drain_note_calls(kymo_drain *d, uint32_t slot)
{
    const struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, slot);
    struct kymo_slot_reader *reader = &d->slots[slot];
    if (!reader->open)
        return;
    /* Pairs with the release of the program, as in open_slot. */
    if (kymo_load_acquire(&shared->state) == KYMO_SLOT_EXITED || reader->gone_ns)
        reader->ended_laps++;
    /* Pairs with the release of next_block. */
    uint32_t last = kymo_load_acquire(&shared->streams[KYMO_STREAM_CALLS].last);
    if (last == 0 || last > kymo_session_blocks(&d->plan))
        return;
    const struct kymo_block *block = kymo_session_block(d->session, &d->plan, last - 1);
    reader->calls_before = reader->calls_now;
    /* Final if the thread has gone on to another block meanwhile. */
    reader->calls_now =
        (struct kymo_stream_reader){last, (uint32_t)kymo_load_acquire(&block->head)};
}

/* Those of a thread that goes on were made between the beginnings of two laps, others up to now. */
static struct kymo_call_span describe(const kymo_drain *d, const struct kymo_slot_reader *slot,
                                      int is_live)
{
    struct kymo_drain_anchor from = d->lap.anchor_first;
    struct kymo_drain_anchor to = is_live ? d->lap.anchor_before : d->clock.now;
    return (struct kymo_call_span){
        .position = slot->calls_read,
        .clock = from.clock,
        .clock_ns = from.ns,
        .ns_per_tick = kymo_drain_clock_ratio(&d->clock, from, to),
        .not_before_ns = d->clock.first_ns,
        .not_after_ns = kymo_clock_ns(CLOCK_MONOTONIC),
    };
}

kymo_err kymo_drain_read_calls(kymo_drain *d, struct kymo_slot_reader *slot, const char *block,
                               uint32_t head, int is_live, int *is_cut)
{
    struct kymo_stream_reader *reader = &slot->streams[KYMO_STREAM_CALLS];
    const struct kymo_stream_reader until = slot->calls_before;
    *is_cut = is_live && (until.block == 0 || until.block == reader->block);
    if (*is_cut && head > until.pos)
        head = until.pos;
    if (head <= reader->pos)
        return KYMO_OK;
    struct kymo_call_bytes calls = {.len = head - reader->pos, .span = describe(d, slot, is_live)};
    /* A copy: the program may write over them at any time. */
    d->calls.len = 0;
    KYMO_TRY(kymo_vec_reserve(&d->calls, calls.len));
    memcpy(d->calls.data, block + reader->pos, calls.len);
    calls.bytes = d->calls.data;
    reader->pos = head;
    slot->calls_read += calls.len;
    return d->sink.calls ? d->sink.calls(d->sink.context, slot->thread, &calls) : KYMO_OK;
}
