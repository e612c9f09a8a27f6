/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raises.c - exceptions that are raised, up to 3.11: the exception events of a trace function.
 *
 * CPython tells of an exception in each frame that it reaches: first in the one that raises it.
 * Then a frame's end by the exception and the event in its caller follow each other, and the frame
 * that ended is in the traceback. That is no other raise. Nor is an exception that a generator is
 * resumed with: no instruction has run between. Frames are only compared by address. A frame that
 * gets the address of another one begins with an event, which forgets that one.
 *
 * A trace function costs. From 3.10 on CPython looks up the line of each instruction for it.
 * f_trace_lines = 0 saves less than half of that on 3.11, next to nothing on 3.10, and debuggers
 * that attach to a running frame would get no lines of it. So there are two ways:
 *
 *   TRACER_ALL       The function is always there.
 *   TRACER_LEAVING   It is there from the end of a frame by an exception to the next event, which
 *                    is that of the caller's frame. What is caught where it is raised is not seen.
 *
 * The function is written into the thread state. PyEval_SetTrace would tell the program's audit
 * hooks, and on 3.9 switch on the events of lines: without that switch they cost nothing there.
 * The trace object stays NULL, so sys.gettrace() is None. Where the program has a trace function,
 * ours is not set.
 */
#include "tracer.h"

#if !TRACER_HAS_MONITORING

#include <frameobject.h>

#define NOT_RESUMED INT_MIN

/* The last event of the thread, as far as it says what an exception is that comes next. */
static _Thread_local struct {
    const PyFrameObject *ended; /* by an exception; only compared. NULL: none has */
    int resumed_at;             /* the instruction behind which a generator begins or goes on */
} last __attribute__((tls_model("initial-exec"))) = {NULL, NOT_RESUMED};

static void note(const PyFrameObject *ended, int resumed_at)
{
    last.ended = ended;
    last.resumed_at = resumed_at;
}

static int last_instruction(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti;
#endif
}

/* The exception has left the frame of this entry. */
static void mark_left(PyObject *exception, const PyTracebackObject *at)
{
    PyCodeObject *code = PyFrame_GetCode(at->tb_frame);
    /* Releases of 3.11 look for the line only when asked. */
    int line = at->tb_lineno > 0 ? at->tb_lineno : PyCode_Addr2Line(code, at->tb_lasti);
    tracer_mark_exception(exception, code, line);
    Py_DECREF(code);
}

/* The entry of the frame that the exception has just ended; NULL: it has ended none. Native code
 * may have put entries of its own before it, as Cython and expat's binding do. */
static const PyTracebackObject *entry_of_ended(PyObject *traceback)
{
    const PyTracebackObject *at = (PyTracebackObject *)traceback;
    while (at && last.ended && at->tb_frame != last.ended)
        at = at->tb_next;
    return last.ended ? at : NULL;
}

/* The exception has reached the frame. */
static void on_exception(PyFrameObject *frame, PyObject *exception, PyObject *traceback)
{
    /* A StopIteration of CPython's own that ends a for loop or a yield from. */
    if (!PyTraceBack_Check(traceback))
        return;
    const PyTracebackObject *ended = entry_of_ended(traceback);
    if (tracer_running()->options.exceptions == TRACER_LEAVING) {
        if (ended && !ended->tb_next)
            mark_left(exception, ended);
    } else if (!ended && last.resumed_at != last_instruction(frame)) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        tracer_mark_exception(exception, code, PyFrame_GetLineNumber(frame));
        Py_DECREF(code);
    }
}

static void on_call(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    int is_generator = code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
    note(NULL, is_generator ? last_instruction(frame) : NOT_RESUMED);
    Py_DECREF(code);
}

static int on_trace(PyObject *none, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)none;
    if (what == PyTrace_EXCEPTION && PyTuple_Check(arg) && PyTuple_GET_SIZE(arg) == 3)
        on_exception(frame, PyTuple_GET_ITEM(arg, 1), PyTuple_GET_ITEM(arg, 2));
    if (what == PyTrace_CALL)
        on_call(frame);
    else
        note(what == PyTrace_RETURN && !arg ? frame : NULL, NOT_RESUMED);
    if (tracer_running()->options.exceptions == TRACER_LEAVING)
        tracer_raise_leave(PyThreadState_Get());
    return 0;
}

/* ---- what the profile function sees ---- */

static void set(PyThreadState *thread)
{
    if (!thread->c_tracefunc)
        thread->c_tracefunc = on_trace;
}

void tracer_raise_ended(const PyFrameObject *frame)
{
    /* With TRACER_ALL our function has seen it. */
    if (tracer_running()->options.exceptions != TRACER_LEAVING)
        return;
    note(frame, NOT_RESUMED);
    set(PyThreadState_Get());
}

void tracer_raise_uncaught(PyObject *exception, PyObject *traceback)
{
    if (tracer_running()->options.exceptions != TRACER_LEAVING || !PyTraceBack_Check(traceback))
        return;
    const PyTracebackObject *at = (PyTracebackObject *)traceback;
    if (!at->tb_next)
        mark_left(exception, at);
}

/* ---- threads ---- */

void tracer_raise_follow(PyThreadState *thread)
{
    if (tracer_running()->options.exceptions == TRACER_ALL)
        set(thread);
}

void tracer_raise_leave(PyThreadState *thread)
{
    if (thread->c_tracefunc == on_trace)
        thread->c_tracefunc = NULL;
}

#endif
