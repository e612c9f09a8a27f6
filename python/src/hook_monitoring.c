/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_monitoring.c - calls by sys.monitoring, from 3.12 on.
 *
 * The callbacks are objects of a type of ours that are called by vectorcall, without a tuple or a
 * frame. Events come from all threads, those that ran before the tracer included.
 *
 * An exception is raised once, and then found again in each frame that it passes: what follows
 * directly on the end of a call by the same exception is the same raise.
 */
#include "events.h"

#if TRACER_HAS_MONITORING

typedef PyObject *handle_event(PyObject *self, PyObject *const *args, size_t flags,
                               PyObject *names);

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

/* A function of `args` as a callback NAME_event. */
#define EVENT(name)                                                                    \
    TRACER_INLINE void name(PyObject *const *args);                                    \
    static PyObject *name##_event(PyObject *self, PyObject *const *args, size_t flags, \
                                  PyObject *names)                                     \
    {                                                                                  \
        (void)self;                                                                    \
        (void)flags;                                                                   \
        (void)names;                                                                   \
        name(args);                                                                    \
        Py_RETURN_NONE;                                                                \
    }                                                                                  \
    TRACER_INLINE void name(PyObject *const *args)

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kymo._kymo.callback",
    .tp_basicsize = sizeof(struct callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct callback, call),
    .tp_call = PyVectorcall_Call,
    .tp_doc = "A callback of sys.monitoring.",
};

/* ---- events: code first, then the place in it ---- */

/* The exception that ends calls just now; only compared. One word of the room that glibc keeps for
 * libraries that are loaded late: without it each access would be a call. */
static _Thread_local PyObject *passing __attribute__((tls_model("initial-exec")));

EVENT(on_start)
{
    passing = NULL;
    tracer_enter_code((PyCodeObject *)args[0], KYMO_TRACE_CALL);
}

EVENT(on_resume)
{
    passing = NULL;
    tracer_enter_code((PyCodeObject *)args[0], KYMO_TRACE_RESUME);
}

EVENT(on_throw)
{
    passing = args[2];
    tracer_enter_code((PyCodeObject *)args[0], KYMO_TRACE_RESUME);
}

EVENT(on_return)
{
    passing = NULL;
    tracer_leave_code((PyCodeObject *)args[0], KYMO_TRACE_RETURN);
}

EVENT(on_yield)
{
    passing = NULL;
    tracer_leave_code((PyCodeObject *)args[0], KYMO_TRACE_YIELD);
}

EVENT(on_unwind)
{
    passing = args[2];
    tracer_leave_code((PyCodeObject *)args[0], KYMO_TRACE_UNWIND);
}

/* code, place, what is called, its first argument */
EVENT(on_native_call)
{
    passing = NULL;
    if (!tracer_is_native(args[2]))
        return;
    tracer_enter_native(args[2], (PyCodeObject *)args[0]);
}

EVENT(on_native_return)
{
    passing = NULL;
    if (!tracer_is_native(args[2]))
        return;
    tracer_leave_native(args[2], (PyCodeObject *)args[0], KYMO_TRACE_RETURN);
}

EVENT(on_native_raise)
{
    if (tracer_is_native(args[2]))
        tracer_leave_native(args[2], (PyCodeObject *)args[0], KYMO_TRACE_UNWIND);
}

EVENT(on_raise)
{
    int has_passed = args[2] == passing;
    passing = NULL; /* it has arrived: once handled, another may get its address */
    if (has_passed)
        return;
    PyCodeObject *code = (PyCodeObject *)args[0];
    long at = PyLong_AsLong(args[1]);
    tracer_mark_exception(args[2], code, PyCode_Addr2Line(code, (int)at));
}

/* ---- installing ---- */

enum group { CALLS, NATIVES, EXCEPTIONS };

static const struct {
    const char *event;
    handle_event *handle;
    enum group group;
} events[] = {
    {"PY_START", on_start_event, CALLS},         {"PY_RESUME", on_resume_event, CALLS},
    {"PY_THROW", on_throw_event, CALLS},         {"PY_RETURN", on_return_event, CALLS},
    {"PY_YIELD", on_yield_event, CALLS},         {"PY_UNWIND", on_unwind_event, CALLS},
    {"CALL", on_native_call_event, NATIVES},     {"C_RETURN", on_native_return_event, NATIVES},
    {"C_RAISE", on_native_raise_event, NATIVES}, {"RAISE", on_raise_event, EXCEPTIONS},
};

static PyObject *monitoring; /* NULL: not hooked */
static long tool = -1;

static int is_wanted(enum group group)
{
    return group == CALLS || (group == NATIVES && tracer_options.natives) ||
           (group == EXCEPTIONS && tracer_options.exceptions);
}

/* A tool id that no tool has: those without a meaning first. */
static long take_tool(void)
{
    static const long ids[] = {4, 3, 5, 1, 0};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        PyObject *done = PyObject_CallMethod(monitoring, "use_tool_id", "ls", ids[i], "kymo");
        Py_XDECREF(done);
        if (done)
            return ids[i];
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError, "kymo: all tools of sys.monitoring are in use");
    return -1;
}

/* Returns the event's bit; 0 with an exception. */
static long register_event(PyObject *names, size_t i)
{
    PyObject *number = PyObject_GetAttrString(names, events[i].event);
    struct callback *callback = number ? PyObject_New(struct callback, &callback_type) : NULL;
    long bit = 0;
    if (callback) {
        callback->call = events[i].handle;
        PyObject *before =
            PyObject_CallMethod(monitoring, "register_callback", "lOO", tool, number, callback);
        bit = before ? PyLong_AsLong(number) : 0;
        Py_XDECREF(before);
        Py_DECREF(callback);
    }
    Py_XDECREF(number);
    return bit;
}

static int set_events(long mask)
{
    PyObject *done = PyObject_CallMethod(monitoring, "set_events", "ll", tool, mask);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int install(void)
{
    PyObject *names = PyObject_GetAttrString(monitoring, "events");
    long mask = 0;
    for (size_t i = 0; names && i < sizeof events / sizeof *events; i++) {
        if (!is_wanted(events[i].group))
            continue;
        long bit = register_event(names, i);
        if (!bit) {
            Py_DECREF(names);
            return -1;
        }
        mask |= bit;
    }
    Py_XDECREF(names);
    return names ? set_events(mask) : -1;
}

int tracer_hook(void)
{
    if (monitoring)
        return 0;
    PyObject *found = PySys_GetObject("monitoring");
    if (!found || PyType_Ready(&callback_type) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "kymo: there is no sys.monitoring");
        return -1;
    }
    monitoring = Py_NewRef(found);
    tool = take_tool();
    if (tool >= 0 && install() == 0)
        return 0;
    PyObject *why = PyErr_GetRaisedException();
    (void)tracer_unhook();
    PyErr_Clear();
    PyErr_SetRaisedException(why);
    return -1;
}

int tracer_unhook(void)
{
    int result = 0;
    if (!monitoring)
        return 0;
    if (tool >= 0) {
        result = set_events(0);
        PyObject *done = PyObject_CallMethod(monitoring, "free_tool_id", "l", tool);
        Py_XDECREF(done);
        result = done ? result : -1;
    }
    tool = -1;
    Py_CLEAR(monitoring);
    return result;
}

#endif
