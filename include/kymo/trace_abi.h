/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_abi.h - how a tracer hands function calls to the library of Kymo in its process.
 *
 * Flow:     a tracer (python/kymo/_kymo.c) -> [trace_abi] -> libkymo-preload.so
 * Threads:  any; each writes its own calls
 * Memory:   texts are copied
 * Signals:  none of it is for handlers
 *
 * A tracer looks for kymo_trace_attach by dlsym and calls it for each recording that it may be in.
 * It tells of each function once, gets a number for it, and then passes events with that number.
 *
 *   epoch   names the session that numbers belong to. A forked child reads 0 until it is recorded,
 *           and another epoch then: functions have to be told of again.
 *   thread  each begins with the calls that run already: event() asks for them once.
 *   depth   the library counts it, and tells of it again where events are lost: one costs no other.
 *
 * Most events are some bytes in a block of memory that the library gave to the thread: the tracer
 * puts them there itself, by kymo_trace_put.
 */
#ifndef KYMO_TRACE_ABI_H
#define KYMO_TRACE_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_TRACE_ABI 2u

enum kymo_trace_event {
    KYMO_TRACE_CALL = 0,
    KYMO_TRACE_RESUME = 1, /* of a generator or coroutine */
    KYMO_TRACE_OPEN = 2,   /* it was running when the tracer came to this thread */
    KYMO_TRACE_RETURN = 3,
    KYMO_TRACE_YIELD = 4,
    KYMO_TRACE_UNWIND = 5, /* an exception ends the call */
    KYMO_TRACE_GAP = 6,    /* the library's own: so many events are missing before this one */
    KYMO_TRACE_STOP = 7,   /* the tracer leaves the thread, in whichever functions it is */
};

enum kymo_trace_language {
    KYMO_TRACE_PYTHON = 1,
    KYMO_TRACE_PYTHON_NATIVE = 2, /* a function that Python calls and that is not Python */
};

enum kymo_trace_function_flags {
    KYMO_TRACE_NAME_CUT = 1,
};

struct kymo_trace_function {
    uint32_t size; /* of this structure */
    uint32_t language;
    uint32_t first_line; /* 0: not known */
    uint32_t name_len, file_len;
    const char *name; /* in any encoding */
    const char *file; /* NULL: not known */
};

/* ---- where events come to lie: buffer/call_units.h says how ---- */

#define KYMO_TRACE_TAG_BITS 3u
#define KYMO_TRACE_TICK_BITS 13u
/* Ticks of an event that is put, since the one before, and its function. */
#define KYMO_TRACE_TICKS_END (1u << KYMO_TRACE_TICK_BITS)
#define KYMO_TRACE_FUNCTIONS_END (1u << 16)

enum { KYMO_TRACE_END_BYTES = 2, KYMO_TRACE_BEGIN_BYTES = 4 };

/* Where the calling thread's next event comes to lie; the library's, and as long as the thread. */
struct kymo_trace_place {
    uint32_t turn;  /* of the tracer that it is for; 0: none */
    uint32_t depth; /* in calls, also those that are not recorded */
    /* Bytes of the block. Where as many as `until` are used, an event is not put. */
    uint32_t used, until;
    uint64_t clock; /* of the last event: the time-stamp counter */
    unsigned char *block;
    uint64_t *published; /* so many of its bytes may be read */
    /* Not 0: the time-stamp counter may not be read now. */
    const uint32_t *other_clock;
};

/* Of all threads; both may change at any time. */
struct kymo_trace_now {
    uint32_t turn; /* another one, not 0, for each time that a tracer or a recording begins */
    uint32_t depth_limit; /* deeper calls are not recorded */
};

/* ---- the library ---- */

#define KYMO_TRACE_IS_NEW 1

struct kymo_trace_calls {
    uint32_t size;
    uint32_t abi;
    /* The epoch now; 0: this process is not recorded. One load, relaxed. */
    const uint32_t *epoch;
    const struct kymo_trace_now *now;
    /* Whether the recording is to have calls of this language. A forked child that may be recorded
     * is recorded from here on. */
    int (*is_wanted)(uint32_t language);
    /* The function's number in this epoch; 0: there is no room now, or no recorder. */
    uint32_t (*define)(const struct kymo_trace_function *function);
    /* Of the calling thread, now; kind: enum kymo_trace_event. The function of one that ends a call
     * is not looked at: it is that of the call which runs. KYMO_TRACE_IS_NEW: nothing was
     * recorded, since no event of this thread was before; call begin, tell of the calls that run by
     * KYMO_TRACE_OPEN, the outermost first, and then of this event again. A return from nothing is
     * ignored. */
    int (*event)(uint32_t kind, uint32_t function);
    /* The calling thread is traced from here on. Returns its place; NULL: it cannot be traced. */
    struct kymo_trace_place *(*begin)(void);
    /* All threads are traced no more, in whichever functions they are. */
    void (*end)(void);
    /* Calls that are deeper in their thread are counted and not recorded; 0: all are. */
    void (*limit)(uint32_t depth);
    /* What the program calls the calling thread, in any encoding; cut to 255 bytes. */
    void (*name_thread)(const char *name, uint32_t len);
};

/* NULL: the version is not served. */
typedef const struct kymo_trace_calls *kymo_trace_attach_fn(uint32_t abi);
#define KYMO_TRACE_ATTACH "kymo_trace_attach"

/* Puts an event that begins or ends a call, of a kind that is known where this is compiled, as most
 * can be put. Not where the epoch is 0: in a forked child the block may be gone. place: what
 * begin() returned to the calling thread, or one of zero bytes before that. function: as for
 * event(). counter: reads the time-stamp counter; an inline function costs no call. Returns 0 if it
 * did nothing: event() does it then. Not for handlers. */
static inline __attribute__((always_inline)) int kymo_trace_put(
    const struct kymo_trace_calls *calls, struct kymo_trace_place *place, uint32_t kind,
    uint32_t function, uint64_t (*counter)(void))
{
    const struct kymo_trace_now *now = calls->now;
    const uint32_t begins = kind < KYMO_TRACE_OPEN;
    /* A place of another turn is not looked at: what it points to may be gone. */
    if (__builtin_expect(place->turn != __atomic_load_n(&now->turn, __ATOMIC_RELAXED), 0))
        return 0;
    const uint32_t used = place->used;
    if (__builtin_expect(used >= place->until, 0) ||
        __builtin_expect(
            place->depth + begins - 1 >= __atomic_load_n(&now->depth_limit, __ATOMIC_RELAXED), 0) ||
        __builtin_expect(begins && function >= KYMO_TRACE_FUNCTIONS_END, 0) ||
        __builtin_expect(__atomic_load_n(place->other_clock, __ATOMIC_RELAXED), 0))
        return 0;
    const uint64_t clock = counter();
    const uint64_t ticks = clock - place->clock;
    if (__builtin_expect(ticks >= KYMO_TRACE_TICKS_END, 0))
        return 0;
    /* Of an end the upper half is written over by what follows. */
    const uint32_t unit =
        (begins ? function << 16 : 0) | (uint32_t)ticks << KYMO_TRACE_TAG_BITS | kind;
    memcpy(place->block + used, &unit, sizeof unit);
    place->clock = clock;
    place->depth += begins ? 1u : -1u;
    place->used = used + (begins ? KYMO_TRACE_BEGIN_BYTES : KYMO_TRACE_END_BYTES);
    /* A reader finds whole events. */
    __atomic_store_n(place->published, (uint64_t)place->used, __ATOMIC_RELEASE);
    return 1;
}

#ifdef __cplusplus
}
#endif

#endif
