/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_calls.h - what a chunk of traced calls leaves out, as both sides know it.
 *
 * Layer:    recording
 * Flow:     shared by recording_write_calls.c and recording_decode_calls.c
 * Threads:  one owner at a time
 * Memory:   vectors, which deinit frees
 * Signals:  not for handlers
 *
 * In a group most events are a call from the function that runs, or its return: depth and function
 * follow from the events before. Both sides keep the stack that these tell of. At the begin of a
 * group nothing is known.
 */
#ifndef KYMO_RECORDING_RECORDING_CALLS_H
#define KYMO_RECORDING_RECORDING_CALLS_H

#include <stdint.h>

#include "base/error.h"
#include "base/reader.h"
#include "base/vec.h"
#include "kymo/trace_abi.h"
#include "recording/events.h"

/* The low bits of an event's first number, the others being the time since the event before. */
enum kymo_file_call_tag {
    KYMO_FILE_CALL_RETURN = 0,  /* of the call that runs */
    KYMO_FILE_CALL_YIELD = 1,   /* the same */
    KYMO_FILE_CALL_UNWIND = 2,  /* the same */
    KYMO_FILE_CALL_CALL = 3,    /* from the call that runs; a function follows */
    KYMO_FILE_CALL_RESUME = 4,  /* the same */
    KYMO_FILE_CALL_GENERAL = 7, /* kind, depth, function, missing follow */
};
#define KYMO_FILE_CALL_TAG_BITS 3u

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

struct kymo_call_stack {
    KYMO_VEC(uint32_t) scripts; /* of the known calls, the outermost first */
    uint32_t base;              /* depth of the call around them; it is not known itself */
};

static inline void kymo_call_stack_clear(struct kymo_call_stack *s, uint32_t depth)
{
    s->base = depth;
    s->scripts.len = 0;
}

/* Of the call that runs. */
static inline uint32_t kymo_call_stack_depth(const struct kymo_call_stack *s)
{
    return s->base + (uint32_t)s->scripts.len;
}

/* Applies an event. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_call_stack_apply(struct kymo_call_stack *s, const kymo_event_call *e);
void kymo_call_stack_deinit(struct kymo_call_stack *s);

/* What an event calls its function, for the number that the file has. */
typedef kymo_err kymo_call_function_fn(void *ctx, uint32_t id, uint32_t *script);

/* A group that is being read. */
struct kymo_call_reader {
    struct kymo_call_stack stack;
    KYMO_VEC(uint32_t) functions; /* by their places in the group */
    uint64_t time_ns;             /* of the last event */
    kymo_call_function_fn
        *function; /* called once for each function of a group; NULL: the file's */
    void *ctx;
};

void kymo_call_reader_begin(struct kymo_call_reader *c);
/* Reads the next `most` events of the group; *count of them were read, also when it fails.
 * KYMO_E_CORRUPT: there are no more, or the next one makes no sense; KYMO_E_NOMEM; or what
 * `function` returned. */
KYMO_NODISCARD
kymo_err kymo_call_reader_next(struct kymo_call_reader *c, kymo_reader *r, kymo_event_call *events,
                               uint32_t most, uint32_t *count);
void kymo_call_reader_deinit(struct kymo_call_reader *c);

#endif
