/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_calls.c - traced calls, and the functions that they name.
 *
 * A function is told of in the stream of the thread that met it first, and may be called by another
 * thread a moment later. So of a live thread only those calls are read that were made before the
 * lap before began: that lap has read every function that they name. The last lap reads all
 * functions first.
 */
#include <string.h>

#include "base/atomic.h"
#include "buffer/drain_state.h"
#include "buffer/record.h"
#include "kymo/trace_abi.h"

#define BATCH 256u

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

/* Up to `most` records, until one that is younger than `cut`, or is none (*is_damaged). Returns how
 * many. */
static uint32_t read_calls(const kymo_drain *d, const char *at, uint32_t most, uint64_t cut,
                           struct kymo_drain_stretch *near, struct kymo_drain_call *restrict calls,
                           int *is_damaged)
{
    uint32_t n = 0;
    for (; n < most; n++) {
        struct kymo_record_call r;
        struct kymo_drain_call *call = &calls[n];
        memcpy(&r, at + n * sizeof r, sizeof r);
        if (r.clock > cut)
            break;
        if (!(r.event & KYMO_CALL_IS_EVENT)) {
            *is_damaged = 1;
            break;
        }
        call->time_ns = kymo_drain_clock_near_ns(&d->clock, near, r.clock);
        call->kind = kymo_call_kind(r.event);
        if (kymo_likely(call->kind < KYMO_TRACE_GAP)) {
            call->function = is_known(d, r.function) ? r.function : 0;
            call->depth = kymo_call_depth(r.event);
            call->missing = 0;
        } else { /* of these two the function is a number */
            call->function = call->depth = 0;
            call->missing = r.function;
        }
    }
    return n;
}

kymo_err kymo_drain_read_calls(kymo_drain *d, uint32_t thread, const char *block, uint32_t *pos,
                               uint32_t head, int all)
{
    const uint32_t size = sizeof(struct kymo_record_call);
    uint64_t cut = all ? UINT64_MAX : d->lap.cut_before;
    struct kymo_drain_call batch[BATCH];
    struct kymo_drain_stretch near = {.ticks = 0};
    while (*pos + size <= head) {
        uint32_t left = (head - *pos) / size, most = left < BATCH ? left : BATCH;
        int is_damaged = 0;
        uint32_t n = read_calls(d, block + *pos, most, cut, &near, batch, &is_damaged);
        *pos = is_damaged ? head : *pos + n * size;
        d->noticed[KYMO_LOSS_CORRUPT] += (uint64_t)is_damaged;
        if (n && d->sink.calls)
            KYMO_TRY(d->sink.calls(d->sink.context, thread, batch, n));
        if (n < most)
            break;
    }
    return KYMO_OK;
}
