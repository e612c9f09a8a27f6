/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h - markers, counters and labels that a Python program makes itself: kymo.marker and its
 * like.
 *
 * Flow:     python/kymo/_marks.py -> [marks] -> the library of the recorder, by kymo/marker_abi.h
 * Threads:  all with the GIL of their interpreter
 * Memory:   a place for each name with the keys of its fields, as long as the interpreter lives; of
 *           names, categories and keys that a program makes without end, one for all (PLACES_MAX)
 * Signals:  not for handlers
 *
 * Each returns NULL with an exception only where it was not called as it wants to be, with and
 * without a recorder. What a value cannot be shown as is absent, and an Exception of its methods is
 * dropped; other exceptions are the program's, as Ctrl-C. Without a recorder they do nothing.
 */
#ifndef KYMO_PYTHON_MARKS_H
#define KYMO_PYTHON_MARKS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A free-threaded build: without the lock that all of this relies on nothing is traced or marked.
 * KYMO_AS_FREE_THREADED: any build is to do as such a one does. */
#if defined Py_GIL_DISABLED || defined KYMO_AS_FREE_THREADED
#define KYMO_FREE_THREADED 1
#else
#define KYMO_FREE_THREADED 0
#endif

/* Of an interpreter. NULL: none yet. */
struct marks {
    PyObject *places;       /* {(name, category, keys): capsule} */
    PyObject *descriptions; /* {name: (label, {key: index of formats})} */
};
/* Of the module's interpreter. */
struct marks *marks_of(PyObject *module);
void marks_clear(struct marks *marks);

/* marker(name, *, category=None, since=None, stack=False, **fields) */
PyObject *marks_marker(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keys);
/* begin(name, *, the same) -> the number of an interval, 0 without a recorder;
 * end(name, number, *, the same) */
PyObject *marks_begin(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keys);
PyObject *marks_end(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keys);
/* describe(name, label, {key: format}): how fields of markers of that name are shown. ValueError:
 * there is no such format. */
PyObject *marks_describe(PyObject *self, PyObject *args);
/* now() -> a time for since */
PyObject *marks_now(PyObject *self, PyObject *none);

/* label_push(key, value) -> a depth for label_pop(depth); label_set(key, value) */
PyObject *marks_label_push(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *marks_label_pop(PyObject *self, PyObject *depth);
PyObject *marks_label_set(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* counter(name, kind, unit, category, description) -> an object that count(object, value) takes */
PyObject *marks_counter(PyObject *self, PyObject *args);
PyObject *marks_count(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
