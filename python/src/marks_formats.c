/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_formats.c - how the fields of markers are shown: what describe says.
 */
#include "marks_parts.h"

#include <string.h>

/* X(format, as the Firefox Profiler names it, kind of the field) */
#define FORMATS(X)                          \
    X(STRING, "string", TEXT)               \
    X(UNIQUE_STRING, "unique-string", TEXT) \
    X(SANITIZED_STRING, "sanitized", TEXT)  \
    X(URL, "url", TEXT)                     \
    X(FILE_PATH, "file-path", TEXT)         \
    X(INTEGER, "integer", OPT_I64)          \
    X(BYTES, "bytes", OPT_I64)              \
    X(HEXADECIMAL, "hexadecimal", OPT_I64)  \
    X(PID, "pid", OPT_I64)                  \
    X(TID, "tid", OPT_I64)                  \
    X(DECIMAL, "decimal", OPT_F64)          \
    X(PERCENTAGE, "percentage", OPT_F64)    \
    X(DURATION, "duration", NS)             \
    X(FLOW_ID, "flow", FLOW)                \
    X(TERMINATING_FLOW_ID, "flow-end", FLOW)

static const struct marks_format formats[] = {
#define ROW(format, name, kind) {name, KYMO_FORMAT_##format, KYMO_KIND_##kind},
    FORMATS(ROW)
#undef ROW
};

#define FORMAT_COUNT ((long)(sizeof formats / sizeof *formats))

PyObject *marks_description_of(const struct marks *marks, PyObject *name)
{
    return marks->descriptions ? PyDict_GetItemWithError(marks->descriptions, name) : NULL;
}

const struct marks_format *marks_format_of(PyObject *said, PyObject *key)
{
    PyObject *index = said ? PyDict_GetItem(PyTuple_GET_ITEM(said, 1), key) : NULL;
    return index ? &formats[PyLong_AsLong(index)] : NULL;
}

const char *marks_label_of(PyObject *said)
{
    return said ? marks_text_of(PyTuple_GET_ITEM(said, 0)) : NULL;
}

/* {key: index of formats} */
static PyObject *indexes_of(PyObject *keys)
{
    PyObject *out = PyDict_New();
    PyObject *key, *format;
    Py_ssize_t at = 0;
    while (out && PyDict_Next(keys, &at, &key, &format)) {
        const char *name = marks_text_of(format);
        long i = 0;
        while (i < FORMAT_COUNT && (!name || strcmp(formats[i].name, name) != 0))
            i++;
        if (i == FORMAT_COUNT) {
            PyErr_Format(PyExc_ValueError, "%U: there is no format %R", key, format);
            Py_CLEAR(out);
            break;
        }
        PyObject *index = PyLong_FromLong(i);
        if (!index || PyDict_SetItem(out, key, index) < 0)
            Py_CLEAR(out);
        Py_XDECREF(index);
    }
    return out;
}

PyObject *marks_describe(PyObject *self, PyObject *args)
{
    PyObject *name, *label, *keys, *said = NULL;
    struct marks *marks = marks_of(self);
    if (!PyArg_ParseTuple(args, "UOO!", &name, &label, &PyDict_Type, &keys))
        return NULL;
    PyObject *indexes = indexes_of(keys);
    if (KYMO_FREE_THREADED && indexes) {
        Py_DECREF(indexes);
        Py_RETURN_NONE;
    }
    if (indexes && (marks->descriptions || (marks->descriptions = PyDict_New())))
        said = PyTuple_Pack(2, label, indexes);
    int result = said ? PyDict_SetItem(marks->descriptions, name, said) : -1;
    Py_XDECREF(said);
    Py_XDECREF(indexes);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}
