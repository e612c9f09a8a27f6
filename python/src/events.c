/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - what is rare of events of the calling thread: see events.h.
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

static uint32_t number_of(struct tracer *t, PyCodeObject *code, uint32_t key)
{
    uint32_t word = tracer_code_word(t, code, key);
    return word & TRACER_HIDDEN ? TRACER_HIDDEN : word & TRACER_NUMBER;
}

/* inside: so many of the innermost frames are not told of. Returns 0 if there is no room. */
static int tell_open(struct tracer *t, uint32_t key, int inside)
{
    PyCodeObject *codes[OPEN_MAX];
    if (!tracer_calls->begin())
        return 0;
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
    uint32_t key = tracer_key(t);
    for (int n = key ? frames_of(codes) : 0; n > 0; n--) {
        uint32_t number = number_of(t, codes[n - 1], key);
        if (number != TRACER_HIDDEN &&
            tracer_calls->event(KYMO_TRACE_OPEN, number) == KYMO_TRACE_IS_NEW)
            return;
    }
}

void tracer_tell_first(struct tracer *t, uint32_t kind, uint32_t number, uint32_t key, int inside)
{
    if (tell_open(t, key, inside) && kind != TRACER_NO_EVENT)
        (void)tracer_calls->event(kind, number);
}

void tracer_enter_special(struct tracer *t, PyCodeObject *code, uint32_t kind, uint32_t word,
                          uint32_t key)
{
    if (!(word & TRACER_HIDDEN))
        tracer_tell(t, kind, word & TRACER_NUMBER, key, 1);
    if (word & TRACER_WATCHED) /* what is left out, too */
        tracer_watch_begin(t, code);
}

void tracer_leave_special(struct tracer *t, PyCodeObject *code, uint32_t kind, uint32_t word,
                          uint32_t key)
{
    if (word & TRACER_WATCHED)
        tracer_watch_end(t, code);
    if (!(word & TRACER_HIDDEN))
        tracer_tell(t, kind, 0, key, 0);
}
