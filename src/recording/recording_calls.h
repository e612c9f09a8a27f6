/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_calls.h - traced calls: from the bytes that a tracer wrote to events.
 *
 * Layer:    recording
 * Flow:     bytes of a chunk -> [calls] -> recording_decode_calls.c, open_calls.c
 * Threads:  one owner at a time
 * Memory:   of each thread a vector, which kymo_call_state_deinit frees
 * Signals:  not for handlers
 *
 * buffer/call_units.h has the bytes. What one event means follows from those before: a reader keeps
 * a state for each thread. A group says which bytes of the thread it has. Where some are missing
 * before it (a damaged chunk), nothing is known until its first SYNC, and what lies before that is
 * left out.
 */
#ifndef KYMO_RECORDING_RECORDING_CALLS_H
#define KYMO_RECORDING_RECORDING_CALLS_H

#include <stdint.h>

#include "base/error.h"
#include "base/reader.h"
#include "base/vec.h"
#include "buffer/call_units.h"
#include "recording/events.h"

/* What is known of a thread behind the last group. Zero bytes are a thread without one. */
struct kymo_call_state {
    KYMO_VEC(uint32_t) scripts; /* of the known calls, the outermost first */
    uint32_t base;              /* depth of the call around them; it is not known itself */
    int is_known;               /* 0: nothing is, until the next SYNC */
    uint64_t clock, time_ns;    /* of the last event */
    uint64_t position;          /* of the next byte */
};

void kymo_call_state_deinit(struct kymo_call_state *s);
/* Of the call that runs; 0: none. */
static inline uint32_t kymo_call_state_depth(const struct kymo_call_state *s)
{
    return s->base + (uint32_t)s->scripts.len;
}

/* The call of this depth runs; 0: none. */
void kymo_call_state_set_depth(struct kymo_call_state *s, uint32_t depth);

/* The script that `id` is. */
typedef kymo_err kymo_call_script_fn(void *ctx, uint32_t id, uint32_t *script);

#define KYMO_SCRIPTS_RECENT 256u

/* Reads groups. Zero bytes are a reader whose ids are the scripts. */
struct kymo_call_reader {
    kymo_call_script_fn *script; /* NULL: the id itself */
    void *ctx;
    kymo_event_raw_calls group;
    kymo_reader bytes;
    struct kymo_call_state *state;
    /* Of some functions, by the low bits of their numbers. Of 0 nothing is known. */
    struct kymo_recent_script {
        uint32_t number, script;
    } recent[KYMO_SCRIPTS_RECENT];
};

/* A group in a chunk; its bytes are borrowed. 0: it is not whole. */
int kymo_read_call_group(kymo_reader *r, kymo_event_raw_calls *group);

/* So many of a group's bytes, at most `most` if one unit has no more, can be a group of their own,
 * with the rest behind them. All, if they make no sense. */
uint32_t kymo_calls_part(const void *bytes, uint32_t len, uint32_t most);

/* What script() says has changed. */
void kymo_call_reader_forget(struct kymo_call_reader *c);
/* Begins a group. Its bytes and the state are borrowed until the next one begins. */
void kymo_call_reader_begin(struct kymo_call_reader *c, struct kymo_call_state *state,
                            const kymo_event_raw_calls *group);
/* Reads up to `most` events of the group; *count of them were read, also when it fails. None: there
 * are no more. KYMO_E_CORRUPT: the next one makes no sense, and the rest is left out; KYMO_E_NOMEM;
 * or what script() returned. */
KYMO_NODISCARD
kymo_err kymo_call_reader_next(struct kymo_call_reader *c, kymo_event_call *events, uint32_t most,
                               uint32_t *count);

#endif
