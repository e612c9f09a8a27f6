/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - calls that mean more than a call: a module is loaded, a thread of threading begins, the
 * event loop of asyncio runs a step of a task, a logger handles a record.
 *
 * The code of these functions is known by its address. It is looked for at the start, and again
 * when a module has been loaded that may have it.
 */
#include "tracer.h"

#include <string.h>

#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>
#endif

static const struct {
    const char *module, *type, *function; /* type NULL: of the module itself */
} names[TRACER_WATCHES] = {
    [TRACER_LOADS_MODULE] = {"_frozen_importlib", NULL, "_find_and_load"},
    [TRACER_BEGINS_THREAD] = {"threading", "Thread", "_bootstrap_inner"},
    [TRACER_RUNS_STEP] = {"asyncio.events", "Handle", "_run"},
    [TRACER_HANDLES_RECORD] = {"logging", "Logger", "handle"},
};
int tracer_is_watched(const struct tracer *t, const PyCodeObject *code)
{
    return code == t->watched[TRACER_LOADS_MODULE] || code == t->watched[TRACER_BEGINS_THREAD] ||
           code == t->watched[TRACER_RUNS_STEP] || code == t->watched[TRACER_HANDLES_RECORD];
}

/* Only if its module is loaded. */
static const PyCodeObject *find(enum tracer_watched which)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), names[which].module);
    PyObject *type = module;
    Py_XINCREF(type);
    if (module && names[which].type) {
        Py_DECREF(type);
        type = PyObject_GetAttrString(module, names[which].type);
    }
    PyObject *function = type ? PyObject_GetAttrString(type, names[which].function) : NULL;
    PyObject *code = function && PyFunction_Check(function) ? PyFunction_GET_CODE(function) : NULL;
    Py_XINCREF(code);
    Py_XDECREF(function);
    Py_XDECREF(type);
    PyErr_Clear();
    return (PyCodeObject *)code;
}

void tracer_watch_init(struct tracer *t)
{
    for (int i = 0; i < TRACER_WATCHES; i++) {
        if (t->watched[i])
            continue;
        t->watched[i] = find((enum tracer_watched)i);
        if (t->watched[i])
            tracer_watch_code(t, (PyCodeObject *)t->watched[i]);
    }
}

void tracer_watch_clear(struct tracer *t)
{
    for (int i = 0; i < TRACER_WATCHES; i++)
        Py_XDECREF((PyObject *)t->watched[i]);
}

/* An argument of the innermost frame, which is the index-th; a new reference. NULL: not known. */
static PyObject *argument(const char *name, int index)
{
    PyObject *value = NULL;
    (void)index;
#if PY_VERSION_HEX >= 0x030c0000
    value = PyFrame_GetVarString(PyEval_GetFrame(), name);
#elif PY_VERSION_HEX >= 0x030b0000
    PyObject *locals = PyFrame_GetLocals(PyEval_GetFrame());
    value = locals ? PyDict_GetItemString(locals, name) : NULL;
    Py_XINCREF(value);
    Py_XDECREF(locals);
#else
    (void)name;
    PyFrameObject *frame = PyEval_GetFrame();
    value = index < frame->f_code->co_argcount ? frame->f_localsplus[index] : NULL;
    Py_XINCREF(value);
#endif
    PyErr_Clear();
    return value;
}

static void name_thread(void)
{
    PyObject *self = argument("self", 0);
    PyObject *name = self ? PyObject_GetAttrString(self, "_name") : NULL;
    Py_ssize_t len;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &len) : NULL;
    PyErr_Clear();
    if (text)
        tracer_calls->name_thread(text, len < INT16_MAX ? (uint32_t)len : INT16_MAX);
    Py_XDECREF(name);
    Py_XDECREF(self);
}

/* The task of a step, if it is asyncio's own in C: the callback's object. A new reference. */
static PyObject *task_of(PyObject *handle)
{
    PyObject *callback = handle ? PyObject_GetAttrString(handle, "_callback") : NULL;
    PyObject *task = callback ? PyObject_GetAttrString(callback, "__self__") : NULL;
    Py_XDECREF(callback);
    PyErr_Clear();
    if (task && strcmp(Py_TYPE(task)->tp_name, "_asyncio.Task") != 0)
        Py_CLEAR(task);
    return task;
}

static void name_step(void)
{
    PyObject *handle = argument("self", 0);
    PyObject *task = task_of(handle);
    PyObject *name = task ? PyObject_CallMethod(task, "get_name", NULL) : NULL;
    PyErr_Clear();
    tracer_label_task(name);
    Py_XDECREF(name);
    Py_XDECREF(task);
    Py_XDECREF(handle);
}

static void name_import(const struct tracer *t)
{
    PyObject *name = argument("name", 0);
    tracer_import_begin(t, name);
    Py_XDECREF(name);
}

static void mark_record(void)
{
    PyObject *record = argument("record", 1);
    if (record)
        tracer_mark_record(record);
    Py_XDECREF(record);
}

void tracer_watch_begin(struct tracer *t, const PyCodeObject *code)
{
    if (code == t->watched[TRACER_RUNS_STEP])
        name_step();
    else if (code == t->watched[TRACER_BEGINS_THREAD])
        name_thread();
    else if (code == t->watched[TRACER_HANDLES_RECORD])
        mark_record();
    else
        name_import(t);
}

void tracer_watch_end(struct tracer *t, const PyCodeObject *code)
{
    if (code == t->watched[TRACER_RUNS_STEP])
        tracer_label_task(NULL);
    if (code != t->watched[TRACER_LOADS_MODULE])
        return;
    tracer_import_end(t);
    tracer_watch_init(t);
}
