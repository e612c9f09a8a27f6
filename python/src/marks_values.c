/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_values.c - counters and labels: see marks.h.
 */
#include "marks.h"

#include <string.h>

#include <kymo/marker.h>

/* ---- counters ---- */

/* A copy that lives as long as the process; NULL stays NULL. */
static const char *keep(const char *text, int *failed)
{
    char *copy = text ? PyMem_RawMalloc(strlen(text) + 1) : NULL;
    *failed |= text && !copy;
    return copy ? strcpy(copy, text) : NULL;
}

static uint32_t kind_named(const char *name)
{
    static const char *const names[] = {[KYMO_COUNTER_TOTAL] = "total",
                                        [KYMO_COUNTER_DELTA] = "delta",
                                        [KYMO_COUNTER_GAUGE] = "gauge"};
    uint32_t kind = 0;
    while (kind <= KYMO_COUNTER_GAUGE && strcmp(names[kind], name) != 0)
        kind++;
    return kind;
}

PyObject *marks_counter(PyObject *self, PyObject *args)
{
    const char *name, *kind, *unit, *category, *description;
    int failed = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "sszzz:counter", &name, &kind, &unit, &category, &description))
        return NULL;
    if (kind_named(kind) > KYMO_COUNTER_GAUGE)
        return PyErr_Format(PyExc_ValueError, "a counter is 'total', 'delta' or 'gauge', not '%s'",
                            kind);
    if (!kymo_mark_link_.calls)
        Py_RETURN_NONE;
    struct kymo_mark_counter *counter = PyMem_RawCalloc(1, sizeof *counter);
    if (!counter)
        return PyErr_NoMemory();
    *counter = (struct kymo_mark_counter){
        .size = sizeof *counter,
        .category = marks_category(category ? category : "Python"),
        .name = keep(name, &failed),
        .unit = keep(unit, &failed),
        .description = keep(description, &failed),
        .kind = kind_named(kind),
        .flags = KYMO_COUNTER_IS_F64,
        .color = KYMO_COLOR_YELLOW,
    };
    /* Without a category the recorder has no place for it: it counts nothing. */
    if (failed || !counter->category)
        Py_RETURN_NONE;
    return PyCapsule_New(counter, NULL, NULL);
}

PyObject *marks_count(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "count takes a counter and a number");
        return NULL;
    }
    double value = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred())
        return NULL;
    struct kymo_mark_counter *counter =
        args[0] == Py_None ? NULL : PyCapsule_GetPointer(args[0], NULL);
    if (!counter && PyErr_Occurred())
        return NULL;
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (counter && kymo_mark_load_(counter->category))
        kymo_mark_link_.count(counter, bits, 1);
    Py_RETURN_NONE;
}

/* ---- labels ---- */

/* -1: an exception. */
static int label_arguments(PyObject *const *args, Py_ssize_t count, const char **key)
{
    *key = count == 2 && PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8(args[0]) : NULL;
    if (!*key && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "a label is a key, which is text, and a value");
    return *key ? 0 : -1;
}

PyObject *marks_label_push(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const char *key;
    PyObject *text;
    (void)self;
    if (label_arguments(args, count, &key) < 0)
        return NULL;
    if (!KYMO_LISTENS_())
        return PyLong_FromLong(0);
    struct kymo_mark_cell value = marks_cell(args[1], &text);
    uint32_t depth = PyErr_Occurred() ? 0 : kymo_mark_link_.calls->label_push(key, &value);
    Py_XDECREF(text);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLong(depth);
}

PyObject *marks_label_pop(PyObject *self, PyObject *depth)
{
    (void)self;
    unsigned long at = PyLong_AsUnsignedLong(depth);
    if (PyErr_Occurred())
        return NULL;
    if (at && at <= UINT32_MAX && kymo_mark_link_.calls)
        kymo_mark_link_.calls->label_pop((uint32_t)at);
    Py_RETURN_NONE;
}

PyObject *marks_label_set(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const char *key;
    PyObject *text = NULL;
    (void)self;
    if (label_arguments(args, count, &key) < 0)
        return NULL;
    if (KYMO_LISTENS_()) {
        struct kymo_mark_cell value = {0};
        if (args[1] != Py_None)
            value = marks_cell(args[1], &text);
        if (!PyErr_Occurred())
            kymo_mark_link_.calls->label_set(key, value.kind ? &value : NULL);
        Py_XDECREF(text);
        if (PyErr_Occurred())
            return NULL;
    }
    Py_RETURN_NONE;
}
