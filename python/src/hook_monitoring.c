/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_monitoring.c - calls by sys.monitoring, from 3.12 on.
 *
 * The callbacks are objects of a type of ours that are called by vectorcall, without a tuple or a
 * frame. Events come from all threads of the interpreter, those that ran before the tracer
 * included. A callback knows its interpreter's tracer, which it keeps alive.
 *
 * An exception is raised once, and then found again in each frame that it passes: what follows
 * directly on the end of a call by the same exception is the same raise.
 */
#include "events.h"

#if TRACER_HAS_MONITORING

#include <structmember.h>

typedef PyObject *handle_event(PyObject *self, PyObject *const *args, size_t flags,
                               PyObject *names);

struct callback {
    PyObject_HEAD vectorcallfunc call;
    struct tracer *tracer;
    PyObject *capsule; /* a reference: the tracer's life */
};

/* A function of a tracer and `args` as a callback NAME_event. */
#define EVENT(name)                                                                    \
    TRACER_INLINE void name(struct tracer *t, PyObject *const *args);                  \
    static PyObject *name##_event(PyObject *self, PyObject *const *args, size_t flags, \
                                  PyObject *names)                                     \
    {                                                                                  \
        (void)flags;                                                                   \
        (void)names;                                                                   \
        name(((struct callback *)self)->tracer, args);                                 \
        Py_RETURN_NONE;                                                                \
    }                                                                                  \
    TRACER_INLINE void name(struct tracer *t, PyObject *const *args)

static void callback_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct callback *)self)->capsule);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* A type for each interpreter: the counters of one for all would be written to under many locks. */
static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct callback, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot callback_slots[] = {
    {Py_tp_dealloc, callback_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, callback_members},
    {Py_tp_doc, "A callback of sys.monitoring."},
    {0, NULL},
};
static PyType_Spec callback_spec = {
    .name = "kymo._kymo.callback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

/* ---- events: code first, then the place in it ---- */

/* The exception that ends calls just now, and of which interpreter; only compared. They take of the
 * room that glibc keeps for libraries that are loaded late: else each access would be a call. */
static _Thread_local PyObject *passing __attribute__((tls_model("initial-exec")));
static _Thread_local const struct tracer *passing_in __attribute__((tls_model("initial-exec")));

EVENT(on_start)
{
    passing = NULL;
    tracer_enter_code(t, (PyCodeObject *)args[0], KYMO_TRACE_CALL);
}

EVENT(on_resume)
{
    passing = NULL;
    tracer_enter_code(t, (PyCodeObject *)args[0], KYMO_TRACE_RESUME);
}

EVENT(on_throw)
{
    passing = args[2];
    passing_in = t;
    tracer_enter_code(t, (PyCodeObject *)args[0], KYMO_TRACE_RESUME);
}

EVENT(on_return)
{
    passing = NULL;
    tracer_leave_code(t, (PyCodeObject *)args[0], KYMO_TRACE_RETURN);
}

EVENT(on_yield)
{
    passing = NULL;
    tracer_leave_code(t, (PyCodeObject *)args[0], KYMO_TRACE_YIELD);
}

EVENT(on_unwind)
{
    passing = args[2];
    passing_in = t;
    tracer_leave_code(t, (PyCodeObject *)args[0], KYMO_TRACE_UNWIND);
}

/* code, place, what is called, its first argument */
EVENT(on_native_call)
{
    passing = NULL;
    if (!tracer_is_native(args[2]))
        return;
    tracer_enter_native(t, args[2], (PyCodeObject *)args[0]);
}

EVENT(on_native_return)
{
    passing = NULL;
    if (!tracer_is_native(args[2]))
        return;
    tracer_leave_native(t, (PyCodeObject *)args[0], KYMO_TRACE_RETURN);
}

EVENT(on_native_raise)
{
    if (tracer_is_native(args[2]))
        tracer_leave_native(t, (PyCodeObject *)args[0], KYMO_TRACE_UNWIND);
}

EVENT(on_raise)
{
    int has_passed = args[2] == passing && t == passing_in;
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

static int is_wanted(const struct tracer_options *o, enum group group)
{
    return group == CALLS || (group == NATIVES && o->natives) ||
           (group == EXCEPTIONS && o->exceptions);
}

/* A tool id that no tool has: those without a meaning first. */
static long take_tool(const struct tracer *t)
{
    static const long ids[] = {4, 3, 5, 1, 0};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        PyObject *done = PyObject_CallMethod(t->monitoring, "use_tool_id", "ls", ids[i], "kymo");
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
static long register_event(struct tracer *t, PyObject *names, size_t i)
{
    PyObject *number = PyObject_GetAttrString(names, events[i].event);
    struct callback *callback =
        number ? PyObject_New(struct callback, (PyTypeObject *)t->callback_type) : NULL;
    long bit = 0;
    if (callback) {
        callback->call = events[i].handle;
        callback->tracer = t;
        callback->capsule = Py_NewRef(t->capsule);
        PyObject *before = PyObject_CallMethod(t->monitoring, "register_callback", "lOO", t->tool,
                                               number, callback);
        bit = before ? PyLong_AsLong(number) : 0;
        Py_XDECREF(before);
        Py_DECREF(callback);
    }
    Py_XDECREF(number);
    return bit;
}

static int set_events(struct tracer *t, long mask)
{
    PyObject *done = PyObject_CallMethod(t->monitoring, "set_events", "ll", t->tool, mask);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int install(struct tracer *t)
{
    PyObject *names = PyObject_GetAttrString(t->monitoring, "events");
    long mask = 0;
    for (size_t i = 0; names && i < sizeof events / sizeof *events; i++) {
        if (!is_wanted(&t->options, events[i].group))
            continue;
        long bit = register_event(t, names, i);
        if (!bit) {
            Py_DECREF(names);
            return -1;
        }
        mask |= bit;
    }
    Py_XDECREF(names);
    return names ? set_events(t, mask) : -1;
}

static void forget(struct tracer *t)
{
    t->tool = -1;
    Py_CLEAR(t->monitoring);
}

int tracer_hook(struct tracer *t)
{
    if (t->monitoring)
        return 0;
    PyObject *found = PySys_GetObject("monitoring");
    if (!found) {
        PyErr_SetString(PyExc_RuntimeError, "kymo: there is no sys.monitoring");
        return -1;
    }
    if (!t->callback_type && !(t->callback_type = PyType_FromSpec(&callback_spec)))
        return -1;
    t->monitoring = Py_NewRef(found);
    t->tool = take_tool(t);
    if (t->tool >= 0 && install(t) == 0)
        return 0;
    PyObject *why = PyErr_GetRaisedException();
    (void)tracer_unhook(t);
    PyErr_Clear();
    PyErr_SetRaisedException(why);
    return -1;
}

int tracer_unhook(struct tracer *t)
{
    int result = 0;
    if (!t->monitoring)
        return 0;
    if (t->tool >= 0) {
        result = set_events(t, 0);
        PyObject *done = PyObject_CallMethod(t->monitoring, "free_tool_id", "l", t->tool);
        Py_XDECREF(done);
        result = done ? result : -1;
    }
    forget(t);
    return result;
}

void tracer_hook_init(struct tracer *t)
{
    t->tool = -1;
}

void tracer_hook_clear(struct tracer *t)
{
    forget(t);
    Py_CLEAR(t->callback_type);
}

#endif
