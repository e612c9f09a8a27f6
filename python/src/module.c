/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - kymo._kymo.
 *
 * The main interpreter alone is traced. The module can be loaded by all, also by those with a GIL
 * of their own: in others than the main one it does nothing.
 */
#include "marks.h"
#include "own.h"
#include "tracer.h"

struct tracer_options tracer_options = {.natives = 1, .exceptions = TRACER_ALL};

static int is_hooked;
static int is_paused; /* is not hooked, and resume() hooks it again */

static int is_main(void)
{
    return PyInterpreterState_Get() == PyInterpreterState_Main();
}

static PyObject *is_recorded(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(is_main() && (tracer_calls || tracer_link()));
}

/* Of filters, which may be NULL: tuples of str. */
static int is_same(PyObject *a, PyObject *b)
{
    int result = a && b ? PyObject_RichCompareBool(a, b, Py_EQ) : a == b;
    PyErr_Clear();
    return result > 0;
}

/* Takes what was asked for, and gives up what was before. */
static void take_options(struct tracer_options *asked)
{
    asked->version = tracer_options.version;
    if (!is_same(asked->include, tracer_options.include) ||
        !is_same(asked->exclude, tracer_options.exclude))
        asked->version = (asked->version + 1) & 0xffff;
    Py_XINCREF(asked->include);
    Py_XINCREF(asked->exclude);
    Py_XDECREF(tracer_options.include);
    Py_XDECREF(tracer_options.exclude);
    tracer_options = *asked;
    tracer_options.filters = (asked->include && PyTuple_GET_SIZE(asked->include) > 0) ||
                             (asked->exclude && PyTuple_GET_SIZE(asked->exclude) > 1);
    tracer_calls->limit(asked->depth);
}

/* Returns 0 with an exception. Without a recorder that wants it nothing happens. */
static int hook(struct tracer_options *options)
{
    if (!tracer_link())
        return 1;
    take_options(options);
    if (tracer_functions_init() < 0)
        return 0;
    tracer_watch_init();
    if (tracer_markers_hook() < 0 || tracer_hook() < 0)
        return 0;
    is_hooked = 1;
    return 1;
}

/* Blocks of kymo.traced() that run now, in any thread. The last one ends what the first began. */
static unsigned int blocks;
static int is_of_block; /* nothing but blocks asked for it */

static PyObject *start(PyObject *self, PyObject *args, PyObject *names)
{
    static char *keys[] = {"natives", "exceptions", "depth", "include", "exclude", "block", NULL};
    struct tracer_options options = {.natives = 1, .exceptions = TRACER_ALL};
    int is_block = 0;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|$piIO!O!p", keys, &options.natives,
                                     &options.exceptions, &options.depth, &PyTuple_Type,
                                     &options.include, &PyTuple_Type, &options.exclude, &is_block))
        return NULL;
    if (!is_main())
        Py_RETURN_FALSE;
    int was_hooked = is_hooked;
    if (!was_hooked && !hook(&options))
        return NULL;
    is_paused = 0;
    if (!is_block || (blocks == 0 && !was_hooked))
        is_of_block = is_block;
    blocks += is_block != 0;
    return PyBool_FromLong(is_hooked);
}

/* Returns 0 with an exception. */
static int unhook(void)
{
    if (!is_hooked)
        return 1;
    if (tracer_unhook() < 0)
        return 0;
    tracer_markers_unhook();
    tracer_calls->end();
    is_hooked = 0;
    return 1;
}

static PyObject *stop(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    if (!is_main())
        Py_RETURN_NONE;
    if (!unhook())
        return NULL;
    is_paused = 0;
    Py_RETURN_NONE;
}

static PyObject *pause_tracing(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    if (!is_main() || !is_hooked)
        Py_RETURN_NONE;
    if (!unhook())
        return NULL;
    is_paused = 1;
    Py_RETURN_NONE;
}

static PyObject *resume(PyObject *self, PyObject *none)
{
    struct tracer_options same = tracer_options;
    (void)self;
    (void)none;
    if (!is_main() || !is_paused)
        Py_RETURN_NONE;
    if (!hook(&same))
        return NULL;
    is_paused = 0;
    Py_RETURN_NONE;
}

static PyObject *end_block(PyObject *self, PyObject *none)
{
    if (!is_main())
        Py_RETURN_NONE;
    blocks -= blocks > 0;
    if (blocks == 0 && is_of_block)
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

static PyModuleDef_Slot slots[] = {
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    "kymo._kymo",
    "Traces Python for kymo record --trace=python.",
    0,
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
