/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter.c - what belongs to one interpreter: see struct tracer.
 *
 * It is in the interpreter's own dictionary, which goes with the interpreter's last objects: behind
 * all of its modules and threads. So events find it to the end, and a module that is imported a
 * second time finds what the first one has hooked.
 */
#include "tracer.h"

#define KEY "kymo._kymo"

unsigned int tracer_hooked;

static void destroy(PyObject *capsule)
{
    struct tracer *t = PyCapsule_GetPointer(capsule, KEY);
    if (!t)
        return;
    if (t->is_hooked)
        __atomic_sub_fetch(&tracer_hooked, 1, __ATOMIC_RELAXED);
    tracer_hook_clear(t);
    tracer_watch_clear(t);
    tracer_functions_clear(t);
    marks_clear(&t->marks);
    Py_XDECREF(t->collection_callback);
    Py_XDECREF(t->options.include);
    Py_XDECREF(t->options.exclude);
    PyMem_RawFree(t);
}

/* NULL: no memory. */
static struct tracer *create(PyObject *dict)
{
    struct tracer *t = PyMem_RawCalloc(1, sizeof *t);
    PyObject *capsule = t ? PyCapsule_New(t, KEY, destroy) : NULL;
    if (!capsule) {
        PyMem_RawFree(t);
        PyErr_NoMemory();
        return NULL;
    }
    t->options = (struct tracer_options){.natives = 1, .exceptions = TRACER_ALL};
    t->extra_index = -1;
    t->id = PyInterpreterState_GetID(PyInterpreterState_Get());
    t->capsule = capsule;
    tracer_hook_init(t);
    int result = PyDict_SetItemString(dict, KEY, capsule);
    Py_DECREF(capsule);
    return result < 0 ? NULL : t;
}

struct tracer *tracer_of_interpreter(void)
{
    PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
    if (!dict) {
        PyErr_NoMemory();
        return NULL;
    }
    PyObject *capsule = PyDict_GetItemString(dict, KEY);
    return capsule ? PyCapsule_GetPointer(capsule, KEY) : create(dict);
}

struct marks *marks_of(PyObject *module)
{
    return &tracer_of(module)->marks;
}
