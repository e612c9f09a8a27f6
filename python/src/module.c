/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - kymo._kymo.
 */
#include "tracer.h"

struct tracer_options tracer_options = {.natives = 1, .exceptions = 1};

static int is_hooked;

static PyObject *is_recorded(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(tracer_calls || tracer_link());
}

static PyObject *start(PyObject *self, PyObject *args, PyObject *names)
{
    static char *keys[] = {"natives", "exceptions", NULL};
    struct tracer_options options = tracer_options;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, names, "|$pp", keys, &options.natives,
                                     &options.exceptions))
        return NULL;
    if (is_hooked)
        Py_RETURN_TRUE;
    if (!tracer_link())
        Py_RETURN_FALSE;
    tracer_options = options;
    tracer_watch_init();
    if (tracer_functions_init() < 0 || tracer_markers_hook() < 0 || tracer_hook() < 0)
        return NULL;
    is_hooked = 1;
    Py_RETURN_TRUE;
}

static PyObject *hide(PyObject *self, PyObject *folder)
{
    (void)self;
    tracer_functions_hide(folder);
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    if (is_hooked && tracer_unhook() < 0)
        return NULL;
    if (is_hooked) {
        tracer_markers_unhook();
        (void)tracer_calls->event(KYMO_TRACE_STOP, 0);
    }
    is_hooked = 0;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"is_recorded", is_recorded, METH_NOARGS,
     "Whether a recorder of this process wants Python's calls."},
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS,
     "Traces all threads. False: no recorder wants it."},
    {"log", (PyCFunction)(void (*)(void))tracer_log, METH_FASTCALL,
     "Marks a log record: its level's name, its logger, its text."},
    {"hide", hide, METH_O, "Leaves code of files in this folder out."},
    {"stop", stop, METH_NOARGS, "Ends what start began."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    "kymo._kymo",
    "Traces Python for kymo record --trace=python.",
    -1,
    methods,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__kymo(void)
{
    return PyModule_Create(&module);
}
