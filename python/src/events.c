/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - events of the calling thread.
 *
 * Before a thread's first event the library wants to know what runs in it: its frames, from the
 * outermost to the one that the event is about.
 */
#include "tracer.h"

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

/* inside: so many of the innermost frames are not told of. */
static int tell_open(uint32_t epoch, int inside)
{
    PyCodeObject *codes[OPEN_MAX];
    if (!tracer_calls->begin())
        return 0;
    for (int n = frames_of(codes); n > inside; n--) {
        uint32_t number = tracer_code_number(codes[n - 1], epoch);
        if (number != TRACER_HIDDEN)
            (void)tracer_calls->event(KYMO_TRACE_OPEN, number);
    }
    return 1;
}

/* An event, behind the frames that run already if it is the thread's first. */
static inline void tell(uint32_t kind, uint32_t number, uint32_t epoch, int inside)
{
    if (tracer_calls->event(kind, number) == KYMO_TRACE_IS_NEW && tell_open(epoch, inside))
        (void)tracer_calls->event(kind, number);
}

/* ---- calls of Python functions ---- */

void tracer_enter_code(PyCodeObject *code, uint32_t kind)
{
    uint32_t epoch = tracer_epoch();
    if (!epoch)
        return;
    uint32_t number = tracer_code_number(code, epoch);
    if (number != TRACER_HIDDEN)
        tell(kind, number, epoch, 1);
    if (tracer_is_watched(code)) /* of what is left out, too */
        tracer_watch_begin(code);
}

void tracer_leave_code(PyCodeObject *code, uint32_t kind)
{
    uint32_t epoch = tracer_epoch();
    if (!epoch)
        return;
    uint32_t number = tracer_code_number(code, epoch);
    if (tracer_is_watched(code))
        tracer_watch_end(code);
    if (number != TRACER_HIDDEN)
        tell(kind, number, epoch, 0);
}

/* ---- calls of others ---- */

/* What left-out code calls is left out, too. */
static int is_left_out(PyCodeObject *caller, uint32_t epoch)
{
    return tracer_options.filters && tracer_code_number(caller, epoch) == TRACER_HIDDEN;
}

void tracer_enter_native(PyObject *callable, PyCodeObject *caller)
{
    uint32_t epoch = tracer_epoch();
    if (!epoch || is_left_out(caller, epoch))
        return;
    tell(KYMO_TRACE_CALL, tracer_native_number(callable, epoch), epoch, 0);
}

/* A return that is a thread's first event is of a call that nothing told of. */
void tracer_leave_native(PyObject *callable, PyCodeObject *caller, uint32_t kind)
{
    uint32_t epoch = tracer_epoch();
    if (!epoch || is_left_out(caller, epoch))
        return;
    if (tracer_calls->event(kind, tracer_native_number(callable, epoch)) == KYMO_TRACE_IS_NEW)
        (void)tell_open(epoch, 0);
}
