/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_counters.c - counters: see marks.h.
 */
#include "marks_parts.h"

#include <string.h>

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
    if (KYMO_FREE_THREADED || !kymo_mark_link_.calls)
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
    if (!marks_takes(count, 2, "count takes a counter and a number"))
        return NULL;
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
