/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_units.h - traced calls as bytes: in a thread's stream, and unchanged in the file.
 *
 * Layer:    buffer; shared by both halves
 * Flow:     capture/trace.c -> [units] -> recording/recording_calls.c
 * Threads:  one owner at a time
 * Memory:   the caller's
 * Signals:  none of it is for handlers
 *
 * Units have 16 bits: a tag, and above it the ticks of the clock since the event before. Most
 * events are a call from the function that runs, or its end, within 8191 ticks: a unit, and of a
 * call a second one with its function. Depth and function of an end follow from what was before.
 * Where they do not, or at a new place to begin reading, a SYNC comes first.
 *
 *   tag                 then
 *   CALL, RESUME        u16 function
 *   RETURN YIELD UNWIND
 *   OTHER               any event: the kind is above the tag; u16 ticks, u32 function or `missing`
 *   TIME                no event: so many times 8192 ticks pass before the next one
 *   SYNC                no event: u64 clock, u32 depth of the call that runs; 0: none
 */
#ifndef KYMO_BUFFER_CALL_UNITS_H
#define KYMO_BUFFER_CALL_UNITS_H

#include <stdint.h>
#include <string.h>

#include "kymo/trace_abi.h"

/* Those of kinds have the kinds' numbers. */
enum kymo_call_tag {
    KYMO_CALL_TAG_OTHER = KYMO_TRACE_OPEN,
    KYMO_CALL_TAG_TIME = KYMO_TRACE_GAP,
    KYMO_CALL_TAG_SYNC = KYMO_TRACE_STOP,
};
#define KYMO_CALL_TAG_BITS KYMO_TRACE_TAG_BITS
#define KYMO_CALL_TAG_MASK 7u
#define KYMO_CALL_TICK_BITS KYMO_TRACE_TICK_BITS
#define KYMO_CALL_TICKS_END KYMO_TRACE_TICKS_END         /* of one unit */
#define KYMO_CALL_FUNCTIONS_END KYMO_TRACE_FUNCTIONS_END /* of one unit, too */
/* The depth of a call is at most that. */
#define KYMO_CALL_DEPTH_MAX ((1u << 28) - 1)

/* In bytes. */
enum {
    KYMO_CALL_END_BYTES = KYMO_TRACE_END_BYTES,
    KYMO_CALL_BEGIN_BYTES = KYMO_TRACE_BEGIN_BYTES,
    KYMO_CALL_OTHER_BYTES = 8,
    KYMO_CALL_TIME_BYTES = 2,
    KYMO_CALL_SYNC_BYTES = 14,
    KYMO_CALL_BYTES_MAX = KYMO_CALL_SYNC_BYTES + KYMO_CALL_TIME_BYTES + KYMO_CALL_OTHER_BYTES,
};

/* Whether an event of this kind begins a call (CALL, RESUME, OPEN), or ends one (RETURN, YIELD,
 * UNWIND). */
static inline int kymo_call_begins(uint32_t kind)
{
    return kind <= KYMO_TRACE_OPEN;
}
static inline int kymo_call_ends(uint32_t kind)
{
    return kind >= KYMO_TRACE_RETURN && kind <= KYMO_TRACE_UNWIND;
}

/* What a reader knows who has read up to a place. Zero bytes are nothing. */
struct kymo_call_place {
    uint64_t clock; /* of the last event */
    uint32_t depth; /* of the call that runs; 0: none */
    uint32_t is_known;
};

/* Where bytes lie among those of their thread, and how its clock is read there. The file has it. */
struct kymo_call_span {
    uint64_t position; /* so many bytes came before */
    /* At this clock it was clock_ns, and a tick is so many ns in parts of 2^-32. */
    uint64_t clock, clock_ns, ns_per_tick;
    /* Nothing happened before or after: such times are moved there. */
    uint64_t not_before_ns, not_after_ns;
};

struct kymo_call_bytes {
    const void *bytes;
    uint32_t len;
    struct kymo_call_span span;
};

struct kymo_call_event {
    uint64_t clock;
    uint32_t kind;
    uint32_t depth;    /* of the call that begins or ends, from 1 */
    uint32_t function; /* of a gap and a stop: `missing` */
};

static inline unsigned char *kymo_call_put_unit(unsigned char *to, uint32_t unit)
{
    const uint16_t half = (uint16_t)unit;
    memcpy(to, &half, sizeof half);
    return to + sizeof half;
}

static inline unsigned char *kymo_call_put_word(unsigned char *to, uint32_t word)
{
    memcpy(to, &word, sizeof word);
    return to + sizeof word;
}

static inline unsigned char *kymo_call_put_sync(unsigned char *to, uint64_t clock, uint32_t depth)
{
    to = kymo_call_put_unit(to, KYMO_CALL_TAG_SYNC);
    memcpy(to, &clock, sizeof clock);
    return kymo_call_put_word(to + sizeof clock, depth);
}

/* Writes an event of any kind behind what `at` tells of: KYMO_CALL_BYTES_MAX at most. `at` is the
 * place behind it then. has_function: of an end, too, since it is not that of the call that runs.
 */
static inline unsigned char *kymo_call_put(unsigned char *to, struct kymo_call_place *at,
                                           const struct kymo_call_event *e, int has_function)
{
    int begins = kymo_call_begins(e->kind), is_call = begins || kymo_call_ends(e->kind);
    uint32_t runs = !is_call ? at->depth : begins ? e->depth - 1 : e->depth;
    uint64_t ticks = e->clock - at->clock;
    if (!at->is_known || runs != at->depth ||
        ticks >= (uint64_t)KYMO_CALL_TICKS_END * KYMO_CALL_TICKS_END) {
        to = kymo_call_put_sync(to, e->clock, runs);
        ticks = 0;
    }
    uint32_t many = (uint32_t)(ticks >> KYMO_CALL_TICK_BITS);
    uint32_t few = (uint32_t)ticks % KYMO_CALL_TICKS_END;
    if (many)
        to = kymo_call_put_unit(to, many << KYMO_CALL_TAG_BITS | KYMO_CALL_TAG_TIME);
    if (!is_call || e->kind == KYMO_TRACE_OPEN || has_function ||
        (begins && e->function >= KYMO_CALL_FUNCTIONS_END)) {
        to = kymo_call_put_unit(to, e->kind << KYMO_CALL_TAG_BITS | KYMO_CALL_TAG_OTHER);
        to = kymo_call_put_word(kymo_call_put_unit(to, few), e->function);
    } else {
        to = kymo_call_put_unit(to, few << KYMO_CALL_TAG_BITS | e->kind);
        if (begins)
            to = kymo_call_put_unit(to, e->function);
    }
    /* Behind a gap nobody knows what runs. */
    *at = (struct kymo_call_place){e->clock,
                                   begins    ? e->depth
                                   : is_call ? runs - 1
                                             : 0,
                                   e->kind != KYMO_TRACE_GAP};
    return to;
}

#endif
