/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_hook.c - hooks that do nothing: what CPython itself takes to tell of calls. The extension
 * module _hook with start(), for the events that Kymo's tracer asks for. start_records() has hooks
 * that read the time-stamp counter and write 16 bytes: the least that a tracer takes.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

struct record {
    uint64_t clock;
    uint32_t event, function;
};

/* As much as is between a tracer and its reader. */
static volatile struct record records[1u << 20];
static uint32_t used;

static inline void write_record(uint32_t event, const void *function)
{
    volatile struct record *r = &records[used++ % (sizeof records / sizeof *records)];
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    r->clock = (uint64_t)high << 32 | low;
    r->event = event;
    r->function = (uint32_t)(uintptr_t)function;
}

/* Has all pages. */
static void touch_records(void)
{
    memset((void *)records, 1, sizeof records);
}

#if PY_VERSION_HEX >= 0x030c0000

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    (void)self;
    (void)args;
    (void)flags;
    (void)names;
    Py_RETURN_NONE;
}

static PyObject *on_record(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    (void)self;
    (void)flags;
    (void)names;
    write_record(1, args[0]);
    Py_RETURN_NONE;
}

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_hook.callback",
    .tp_basicsize = sizeof(struct callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct callback, call),
    .tp_call = PyVectorcall_Call,
};

static PyObject *hook(vectorcallfunc call)
{
    static const char *const events[] = {"PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN",
                                         "PY_YIELD", "PY_UNWIND", "CALL",     "C_RETURN",
                                         "C_RAISE",  "RAISE"};
    PyObject *monitoring = PySys_GetObject("monitoring");
    PyObject *names = PyObject_GetAttrString(monitoring, "events");
    long mask = 0;
    if (PyType_Ready(&callback_type) < 0 ||
        !PyObject_CallMethod(monitoring, "use_tool_id", "is", 4, "hook"))
        return NULL;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        PyObject *number = PyObject_GetAttrString(names, events[i]);
        struct callback *c = PyObject_New(struct callback, &callback_type);
        c->call = call;
        if (!PyObject_CallMethod(monitoring, "register_callback", "iOO", 4, number, c))
            return NULL;
        mask |= PyLong_AsLong(number);
    }
    return PyObject_CallMethod(monitoring, "set_events", "il", 4, mask);
}

static PyObject *start(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return hook(on_call);
}

static PyObject *start_records(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    touch_records();
    return hook(on_record);
}

#else

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self;
    (void)frame;
    (void)what;
    (void)arg;
    return 0;
}

static PyObject *start(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    PyEval_SetProfile(on_profile, NULL);
    Py_RETURN_NONE;
}

static int on_record(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self;
    (void)arg;
    write_record((uint32_t)what, frame);
    return 0;
}

static PyObject *start_records(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    touch_records();
    PyEval_SetProfile(on_record, NULL);
    Py_RETURN_NONE;
}

#endif

static PyMethodDef methods[] = {{"start", start, METH_NOARGS, NULL},
                                {"start_records", start_records, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_hook", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__hook(void)
{
    return PyModule_Create(&module);
}
