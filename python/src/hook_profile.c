/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_profile.c - calls by PyEval_SetProfile, up to 3.11.
 *
 * A profile function belongs to a thread. Threads that run already get it here, those that begin
 * later by threading.setprofile (kymo/_start.py), whose first call sets it.
 */
#include "tracer.h"

#if !TRACER_HAS_MONITORING

#include <frameobject.h>

/* Whether a generator's frame goes on, and does not begin. */
static int goes_on(PyFrameObject *frame, const PyCodeObject *code)
{
    if (!(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)))
        return 0;
#if PY_VERSION_HEX >= 0x030b0000
    /* RETURN_GENERATOR and POP_TOP have run before the first RESUME. */
    return PyFrame_GetLasti(frame) > code->_co_firsttraceable * 2;
#else
    return frame->f_lasti >= 0;
#endif
}

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    PyCodeObject *code = NULL;
    (void)self;
    switch (what) {
    case PyTrace_CALL:
        code = PyFrame_GetCode(frame);
        tracer_enter_code(code, goes_on(frame, code) ? KYMO_TRACE_RESUME : KYMO_TRACE_CALL);
        break;
    case PyTrace_RETURN:
        code = PyFrame_GetCode(frame);
        tracer_leave_code(code, arg ? KYMO_TRACE_RETURN : KYMO_TRACE_UNWIND);
        break;
    case PyTrace_C_CALL:
        if (tracer_options.natives && tracer_is_native(arg))
            tracer_enter_native(arg);
        break;
    case PyTrace_C_RETURN:
        if (tracer_options.natives && tracer_is_native(arg))
            tracer_leave_native(arg, KYMO_TRACE_RETURN);
        break;
    case PyTrace_C_EXCEPTION:
        if (tracer_options.natives && tracer_is_native(arg))
            tracer_leave_native(arg, KYMO_TRACE_UNWIND);
        break;
    default:
        break;
    }
    Py_XDECREF(code);
    return 0;
}

static int hook_thread(PyThreadState *thread, Py_tracefunc function)
{
#if PY_VERSION_HEX >= 0x03090000
    return _PyEval_SetProfile(thread, function, NULL);
#else
    if (thread == PyThreadState_Get())
        PyEval_SetProfile(function, NULL);
    return 0;
#endif
}

int tracer_hook(void)
{
    PyInterpreterState *interpreter = PyThreadState_Get()->interp;
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter); thread;
         thread = PyThreadState_Next(thread))
        if (hook_thread(thread, on_profile) < 0)
            return -1;
    return 0;
}

int tracer_unhook(void)
{
    PyInterpreterState *interpreter = PyThreadState_Get()->interp;
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter); thread;
         thread = PyThreadState_Next(thread))
        if (hook_thread(thread, NULL) < 0)
            return -1;
    return 0;
}

#endif
