/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_values.c - values of Python as those of markers' fields and labels.
 */
#include "marks_parts.h"

#include <string.h>

void marks_drop_exception(void)
{
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
}

const char *marks_text_of(PyObject *object)
{
    const char *text = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : NULL;
    PyErr_Clear();
    return text;
}

int marks_as_whole(PyObject *value, int64_t *out)
{
    int overflow = 0;
    PyObject *index = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
    *out = index ? PyLong_AsLongLongAndOverflow(index, &overflow) : 0;
    int is_one = index && !overflow && !PyErr_Occurred();
    Py_XDECREF(index);
    marks_drop_exception();
    return is_one;
}

static int as_double(PyObject *value, double *out)
{
    *out = PyUnicode_Check(value) ? 0 : PyFloat_AsDouble(value);
    int is_one = !PyUnicode_Check(value) && !PyErr_Occurred();
    marks_drop_exception();
    return is_one;
}

/* A new reference; NULL: it has none that can be had. */
static PyObject *as_text(PyObject *value)
{
    PyObject *text = PyObject_Str(value);
    marks_drop_exception();
    return text;
}

uint8_t marks_kind_of(PyObject *value)
{
    int64_t whole;
    if (PyFloat_Check(value))
        return KYMO_KIND_OPT_F64;
    return !PyBool_Check(value) && marks_as_whole(value, &whole) ? KYMO_KIND_OPT_I64
                                                                 : KYMO_KIND_TEXT;
}

int marks_fits(PyObject *value, uint8_t kind)
{
    if (value == Py_None)
        return 1;
    uint8_t own = marks_kind_of(value);
    return own == kind || (own == KYMO_KIND_OPT_I64 && kind == KYMO_KIND_OPT_F64);
}

uint32_t marks_put(uint64_t *to, PyObject *value, uint8_t kind, PyObject **kept)
{
    struct kymo_mark_text text = {NULL, 0};
    double number = 0;
    int64_t whole = 0;
    Py_ssize_t len = 0;
    int is_there = value != Py_None;
    *kept = NULL;
    switch (kind) {
    case KYMO_KIND_TEXT:
        *kept = is_there ? as_text(value) : NULL;
        text.data = *kept ? PyUnicode_AsUTF8AndSize(*kept, &len) : NULL;
        text.len = (size_t)len;
        marks_drop_exception();
        memcpy(to, &text, sizeof text);
        return 2;
    case KYMO_KIND_OPT_F64:
        to[1] = is_there && as_double(value, &number);
        memcpy(to, &number, sizeof number);
        return 2;
    case KYMO_KIND_OPT_I64:
        to[1] = is_there && marks_as_whole(value, &whole);
        to[0] = (uint64_t)whole;
        return 2;
    case KYMO_KIND_NS: /* Python's times are seconds */
        to[0] = 0;
        if (is_there && as_double(value, &number) && number > -9e9 && number < 9e9)
            to[0] = (uint64_t)(int64_t)(number * 1e9);
        return 1;
    default: /* a flow */
        to[0] = is_there && marks_as_whole(value, &whole) ? kymo_flow((uint64_t)whole) : 0;
        return 1;
    }
}

struct kymo_mark_cell marks_cell(PyObject *value, PyObject **text)
{
    struct kymo_mark_cell cell = {0};
    int64_t whole;
    Py_ssize_t len = 0;
    *text = NULL;
    uint8_t kind = marks_kind_of(value);
    if (kind == KYMO_KIND_OPT_F64) {
        cell.kind = KYMO_KIND_F64;
        cell.as.f64 = PyFloat_AsDouble(value);
    } else if (kind == KYMO_KIND_OPT_I64 && marks_as_whole(value, &whole)) {
        cell.kind = KYMO_KIND_I64;
        cell.as.i64 = whole;
    } else if ((*text = as_text(value))) {
        cell.as.ptr = PyUnicode_AsUTF8AndSize(*text, &len);
        cell.kind = cell.as.ptr ? KYMO_KIND_TEXT : 0;
        cell.len = (uint32_t)(len < INT32_MAX ? len : INT32_MAX);
        marks_drop_exception();
    }
    return cell;
}
