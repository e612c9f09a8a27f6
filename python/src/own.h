/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own.h - a recording of this process that the program itself begins.
 *
 * Threads:  any, with the GIL; others run while these wait
 */
#ifndef KYMO_PYTHON_OWN_H
#define KYMO_PYTHON_OWN_H

#include <Python.h>

/* begin(library, kymo, settings): OSError says what is missing. */
PyObject *own_begin(PyObject *self, PyObject *args);
/* end(seconds): waits so long at most for the recording to be written. Without one: nothing. */
PyObject *own_end(PyObject *self, PyObject *seconds);

#endif
