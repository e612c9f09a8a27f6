/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_abi.h - how a tracer hands function calls to the library of Kymo in its process.
 *
 * Flow:     a tracer (python/kymo/_kymo.c) -> [trace_abi] -> libkymo-preload.so
 * Threads:  any; each writes its own calls
 * Memory:   texts are copied
 * Signals:  none of it is for handlers
 *
 * A tracer looks for kymo_trace_begin by dlsym and calls it once. It tells of each function once,
 * gets a number for it, and then passes events with that number.
 *
 *   epoch   names the session that numbers belong to. A forked child reads 0 until it is recorded,
 *           and another epoch then: functions have to be told of again.
 *   thread  each begins with the calls that run already: event() asks for them once.
 *   depth   the library counts it, and tells of it again where events are lost: one costs no other.
 */
#ifndef KYMO_TRACE_ABI_H
#define KYMO_TRACE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_TRACE_ABI 1u

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

#define KYMO_TRACE_IS_NEW 1

struct kymo_trace_calls {
    uint32_t size;
    uint32_t abi;
    /* The epoch now; 0: this process is not recorded. One load, relaxed. */
    const uint32_t *epoch;
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
    /* The calling thread is traced from here on; 0: it cannot be. */
    int (*begin)(void);
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

#ifdef __cplusplus
}
#endif

#endif
