/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - events of the calling thread, the slow way: see events.h.
 *
 * Before a thread's first event the library wants to know what runs in it: its frames, from the
 * outermost to the one that the event is about.
 */
#include "events.h"

#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>
#endif

/* Deeper ones are left out: a thread that is in so many calls already when the tracer comes. */
#define OPEN_MAX 1024

/* The code of the thread's frames, the innermost first; borrowed, since the frames live. */
static int frames_of(PyCodeObject **codes)
{
    int n = 0;
#if PY_VERSION_HEX >= 0x030b0000
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame && n < OPEN_MAX) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        PyCodeObject *code = PyFrame_GetCode(frame);
        codes[n++] = code;
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
#else
    for (PyFrameObject *frame = PyEval_GetFrame(); frame && n < OPEN_MAX; frame = frame->f_back)
        codes[n++] = frame->f_code;
#endif
    return n;
}

/* What numbers belong to: the epoch and the filters. 0: this process is not recorded now. */
static uint32_t key_of(const struct tracer *t)
{
    uint32_t epoch = __atomic_load_n(tracer_calls->epoch, __ATOMIC_RELAXED);
    return epoch ? epoch << 16 | t->options.version : 0;
}

static uint32_t word_of(struct tracer *t, PyCodeObject *code, uint32_t key)
{
    uint64_t extra = tracer_code_extra(t, code);
    return extra >> 32 == key ? (uint32_t)extra : tracer_look_at_code(t, code, key);
}

static uint32_t number_of(struct tracer *t, PyCodeObject *code, uint32_t key)
{
    uint32_t word = word_of(t, code, key);
    return word & TRACER_HIDDEN ? TRACER_HIDDEN : word & TRACER_NUMBER;
}

/* inside: so many of the innermost frames are not told of. Returns 0 if there is no room. */
static int tell_open(struct tracer *t, uint32_t key, int inside)
{
    PyCodeObject *codes[OPEN_MAX];
    struct kymo_trace_place *place = tracer_calls->begin();
    if (!place)
        return 0;
    tracer_place = place;
    for (int n = frames_of(codes); n > inside; n--) {
        uint32_t number = number_of(t, codes[n - 1], key);
        if (number != TRACER_HIDDEN)
            (void)tracer_calls->event(KYMO_TRACE_OPEN, number);
    }
    return 1;
}

void tracer_tell_running(struct tracer *t)
{
    PyCodeObject *codes[OPEN_MAX];
    uint32_t key = key_of(t);
    for (int n = key ? frames_of(codes) : 0; n > 0; n--) {
        uint32_t number = number_of(t, codes[n - 1], key);
        if (number != TRACER_HIDDEN &&
            tracer_calls->event(KYMO_TRACE_OPEN, number) == KYMO_TRACE_IS_NEW)
            return;
    }
}

/* An event. inside: if it is the thread's first, so many of the innermost frames, which run
 * already, are not told of before it. */
static void tell(struct tracer *t, uint32_t kind, uint32_t number, uint32_t key, int inside)
{
    if (tracer_calls->event(kind, number) == KYMO_TRACE_IS_NEW && tell_open(t, key, inside))
        (void)tracer_calls->event(kind, number);
}

void tracer_enter_code_slowly(struct tracer *t, PyCodeObject *code, uint32_t kind)
{
    uint32_t key = key_of(t);
    uint32_t word = key ? word_of(t, code, key) : TRACER_HIDDEN;
    if (!(word & TRACER_HIDDEN))
        tell(t, kind, word & TRACER_NUMBER, key, 1);
    if (word & TRACER_WATCHED) /* what is left out, too */
        tracer_watch_begin(t, code);
}

void tracer_leave_code_slowly(struct tracer *t, PyCodeObject *code, uint32_t kind)
{
    uint32_t key = key_of(t);
    uint32_t word = key ? word_of(t, code, key) : TRACER_HIDDEN;
    if (word & TRACER_WATCHED)
        tracer_watch_end(t, code);
    if (!(word & TRACER_HIDDEN))
        tell(t, kind, 0, key, 0);
}

/* What left-out code calls is left out, too. */
static int is_left_out(struct tracer *t, PyCodeObject *caller, uint32_t key)
{
    return t->options.filters && word_of(t, caller, key) & TRACER_HIDDEN;
}

void tracer_enter_native_slowly(struct tracer *t, PyObject *callable, PyCodeObject *caller)
{
    uint32_t key = key_of(t);
    if (key && !is_left_out(t, caller, key))
        tell(t, KYMO_TRACE_CALL, tracer_native_number(t, callable, key), key, 0);
}

/* A return that is a thread's first event is of a call that nothing told of. */
void tracer_leave_native_slowly(struct tracer *t, PyCodeObject *caller, uint32_t kind)
{
    uint32_t key = key_of(t);
    if (key && !is_left_out(t, caller, key) && tracer_calls->event(kind, 0) == KYMO_TRACE_IS_NEW)
        (void)tell_open(t, key, 0);
}
