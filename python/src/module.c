/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - kymo._kymo.
 *
 * Each interpreter is traced that loads it and asks for that, also one with a GIL of its own.
 */
#include "marks.h"
#include "own.h"
#include "tracer.h"

static PyObject *is_recorded(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(!KYMO_FREE_THREADED && tracer_link());
}

/* Of filters, which may be NULL: tuples of str. */
static int is_same(PyObject *a, PyObject *b)
{
    int result = a && b ? PyObject_RichCompareBool(a, b, Py_EQ) : a == b;
    PyErr_Clear();
    return result > 0;
}

/* Takes what was asked for, and gives up what was before. */
static void take_options(struct tracer *t, struct tracer_options *asked)
{
    /* A number for each change in any interpreter: up to 3.11 some code objects are of all. */
    static unsigned int versions;
    struct tracer_options before = t->options;
    asked->version = before.version;
    if (!is_same(asked->include, before.include) || !is_same(asked->exclude, before.exclude))
        asked->version = __atomic_add_fetch(&versions, 1, __ATOMIC_RELAXED) & 0xffff;
    asked->filters = (asked->include && PyTuple_GET_SIZE(asked->include) > 0) ||
                     (asked->exclude && PyTuple_GET_SIZE(asked->exclude) > 1);
    Py_XINCREF(asked->include);
    Py_XINCREF(asked->exclude);
    t->options = *asked;
    Py_XDECREF(before.include);
    Py_XDECREF(before.exclude);
}

/* A thread's calls go through all interpreters: so does their depth. */
static void join_others(struct tracer *t, const struct tracer_options *options)
{
    const PyThreadState *self = PyThreadState_Get();
    if (__atomic_fetch_add(&tracer_hooked, 1, __ATOMIC_RELAXED) == 0)
        tracer_calls->limit(options->depth);
    else if (self->prev || self->next)
        /* Other threads of this interpreter may be in calls that they have not told of, inside of
         * calls of others that they have: each begins anew. */
        tracer_calls->end();
    tracer_tell_running(t);
}

/* All threads begin anew: those of other interpreters with the calls that run in them. */
static void leave_others(void)
{
    __atomic_sub_fetch(&tracer_hooked, 1, __ATOMIC_RELAXED);
    tracer_calls->end();
}

/* Returns 0 with an exception. Without a recorder that wants it nothing happens. */
static int hook(struct tracer *t, struct tracer_options *options)
{
    if (!tracer_link())
        return 1;
    take_options(t, options);
    if (tracer_functions_init(t) < 0)
        return 0;
    tracer_watch_init(t);
    join_others(t, options);
    t->is_hooked = tracer_markers_hook(t) == 0 && tracer_hook(t) == 0;
    if (!t->is_hooked)
        leave_others();
    return t->is_hooked;
}

/* The program goes on as without a recorder. */
static PyObject *refuse(void)
{
    static int is_told;
    if (tracer_link() && !__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED))
        PySys_WriteStderr("kymo: python %d.%d is not traced: it is a free-threaded build\n",
                          PY_MAJOR_VERSION, PY_MINOR_VERSION);
    Py_RETURN_FALSE;
}

static PyObject *start(PyObject *self, PyObject *args, PyObject *names)
{
    static char *keys[] = {"natives", "exceptions", "depth", "include", "exclude", "block", NULL};
    struct tracer_options options = {.natives = 1, .exceptions = TRACER_ALL};
    struct tracer *t = tracer_of(self);
    int is_block = 0;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|$piIO!O!p", keys, &options.natives,
                                     &options.exceptions, &options.depth, &PyTuple_Type,
                                     &options.include, &PyTuple_Type, &options.exclude, &is_block))
        return NULL;
    if (KYMO_FREE_THREADED)
        return refuse();
    int was_hooked = t->is_hooked;
    /* What was hooked may be so for an earlier recording. */
    if (was_hooked)
        (void)tracer_link();
    else if (!hook(t, &options))
        return NULL;
    t->is_paused = 0;
    if (!is_block || (t->blocks == 0 && !was_hooked))
        t->is_of_block = is_block;
    t->blocks += is_block != 0;
    return PyBool_FromLong(t->is_hooked);
}

/* Returns 0 with an exception. */
static int unhook(struct tracer *t)
{
    if (!t->is_hooked)
        return 1;
    int failed = tracer_unhook(t) < 0;
    t->is_hooked = 0;
    leave_others();
    if (!failed)
        tracer_markers_unhook(t);
    return !failed;
}

static PyObject *stop(PyObject *self, PyObject *none)
{
    struct tracer *t = tracer_of(self);
    (void)none;
    if (!unhook(t))
        return NULL;
    t->is_paused = 0;
    Py_RETURN_NONE;
}

static PyObject *pause_tracing(PyObject *self, PyObject *none)
{
    struct tracer *t = tracer_of(self);
    (void)none;
    if (!t->is_hooked)
        Py_RETURN_NONE;
    if (!unhook(t))
        return NULL;
    t->is_paused = 1;
    Py_RETURN_NONE;
}

static PyObject *resume(PyObject *self, PyObject *none)
{
    struct tracer *t = tracer_of(self);
    struct tracer_options same = t->options;
    (void)none;
    if (!t->is_paused)
        Py_RETURN_NONE;
    if (!hook(t, &same))
        return NULL;
    t->is_paused = 0;
    Py_RETURN_NONE;
}

static PyObject *end_block(PyObject *self, PyObject *none)
{
    struct tracer *t = tracer_of(self);
    t->blocks -= t->blocks > 0;
    if (t->blocks == 0 && t->is_of_block)
        return stop(self, none);
    Py_RETURN_NONE;
}

#define WITH_KEYS(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS
#define WITHOUT_KEYS(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL

static PyMethodDef methods[] = {
    {"marker", WITH_KEYS(marks_marker),
     "marker(name, *, category=None, since=None, stack=False, **fields)\n\nAn instant with a name "
     "and fields. since: a kymo.now(), from which on it is an\ninterval. stack: with the stack. "
     "Values are numbers or text; None is absent, all else\nis str() of it."},
    {"begin", WITH_KEYS(marks_begin), "Begins an interval; its number."},
    {"end", WITH_KEYS(marks_end), "Ends the interval of a number."},
    {"describe", marks_describe, METH_VARARGS, "See kymo.describe."},
    {"now", marks_now, METH_NOARGS, "See kymo.now."},
    {"label_push", WITHOUT_KEYS(marks_label_push), "A label; its depth for label_pop."},
    {"label_pop", marks_label_pop, METH_O, "Ends the label at a depth."},
    {"label_set", WITHOUT_KEYS(marks_label_set), "See kymo.set_label."},
    {"counter", marks_counter, METH_VARARGS, "Makes a counter for count."},
    {"count", WITHOUT_KEYS(marks_count), "Adds to a counter, or sets a gauge."},
    {"is_recorded", is_recorded, METH_NOARGS,
     "Whether a recorder of this process wants Python's calls."},
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS,
     "Traces all threads. False: no recorder wants it."},
    {"stop", stop, METH_NOARGS, "Ends what start began."},
    {"pause", pause_tracing, METH_NOARGS, "Ends it until resume."},
    {"resume", resume, METH_NOARGS, "Goes on as before pause."},
    {"begin_own", own_begin, METH_VARARGS, "Begins a recording of this process."},
    {"end_own", own_end, METH_O, "Ends it, and waits until it is written."},
    {"end_block", end_block, METH_NOARGS, "Ends what start(block=True) began."},
    {NULL, NULL, 0, NULL},
};

static int begin_module(PyObject *self)
{
    struct tracer **t = PyModule_GetState(self);
    *t = tracer_of_interpreter();
    return *t ? 0 : -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, begin_module},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if KYMO_FREE_THREADED && PY_VERSION_HEX >= 0x030d0000
    /* Without it CPython would take the lock for good, and say so. */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    "kymo._kymo",
    "Traces Python for kymo record --trace=python.",
    sizeof(struct tracer *),
    methods,
    slots,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__kymo(void)
{
    return PyModuleDef_Init(&module);
}
