/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own.c - a recording of this process that the program itself begins: see kymo/_own.py. The library
 * that makes it is loaded then, and stays.
 */
#include <dlfcn.h>
#include <string.h>

#include "kymo/agent.h"
#include "marks_parts.h"
#include "own.h"

static struct {
    __typeof__(kymo_agent_start) *start;
    __typeof__(kymo_agent_stop) *stop;
} library;

static kymo_agent *agent; /* NULL: none runs */

static int find(void *from, const char *name, void *to)
{
    void *found = dlsym(from, name);
    if (!found)
        PyErr_Format(PyExc_OSError, "libkymo.so has no %s: %s", name, dlerror());
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

/* Global, so that markers of other libraries find it, too. Returns 0 with an exception. */
static int load(const char *path)
{
    if (library.stop)
        return 1;
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!handle) {
        PyErr_Format(PyExc_OSError, "%s", dlerror());
        return 0;
    }
    kymo_mark_attach_fn *attach;
    if (!find(handle, KYMO_MARK_ATTACH, &attach) ||
        !find(handle, "kymo_agent_start", &library.start) ||
        !find(handle, "kymo_agent_stop", &library.stop))
        return 0;
    /* Markers of this module asked when it was loaded, and found none. */
    if (!kymo_mark_link_.calls)
        (void)attach(&kymo_mark_link_);
    return 1;
}

PyObject *own_begin(PyObject *self, PyObject *args)
{
    const char *path;
    kymo_agent_options options = {.size = sizeof options};
    kymo_error why = {.code = KYMO_OK};
    kymo_agent *started = NULL;
    kymo_err err;
    (void)self;
    if (!PyArg_ParseTuple(args, "sss", &path, &options.kymo, &options.settings) || !load(path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    err = library.start(&options, &started, &why);
    Py_END_ALLOW_THREADS;
    if (err != KYMO_OK)
        return PyErr_Format(PyExc_OSError, "kymo: %s", why.message);
    agent = started;
    Py_RETURN_NONE;
}

PyObject *own_end(PyObject *self, PyObject *seconds)
{
    kymo_agent_status status = {.size = sizeof status};
    kymo_agent *ended = agent;
    kymo_err err;
    (void)self;
    double deadline = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred())
        return NULL;
    if (!ended)
        Py_RETURN_NONE;
    agent = NULL;
    Py_BEGIN_ALLOW_THREADS;
    err = library.stop(ended, (uint64_t)(deadline * 1e9), &status);
    Py_END_ALLOW_THREADS;
    if (err != KYMO_OK)
        return PyErr_Format(PyExc_OSError, "kymo: %s",
                            status.reason[0] ? status.reason : "the recording is not complete");
    Py_RETURN_NONE;
}
