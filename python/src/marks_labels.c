/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_labels.c - labels: see marks.h.
 */
#include "marks_parts.h"

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
    if (!marks_listens())
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
    if (marks_listens()) {
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
