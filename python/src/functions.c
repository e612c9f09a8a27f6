/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - numbers of functions.
 *
 * A code object carries its number in a place that CPython keeps for that (co_extra), with the
 * epoch and the filters that it belongs to. So no table is needed, nothing is kept alive, and code
 * that goes takes its number along.
 *
 * A native function is known by its definition (PyMethodDef), which nearly always is static. Some
 * bindings make definitions at run time and free them: the name's address is compared, too.
 */
#include "events.h"

#include <fnmatch.h>
#include <stdint.h>

#if PY_VERSION_HEX >= 0x030c0000
#define request_index PyUnstable_Eval_RequestCodeExtraIndex
#define set_extra PyUnstable_Code_SetExtra
#else
#define request_index _PyEval_RequestCodeExtraIndex
#define set_extra _PyCode_SetExtra
#endif

/* Whether this build keeps extra data as events.h reads it. */
static int reads_extras(const struct tracer *t)
{
    static char here;
    PyCodeObject *code = PyCode_NewEmpty("", "", 0);
    int result = code && set_extra((PyObject *)code, t->extra_index, &here) == 0 &&
                 tracer_code_extra(t, code) == (uintptr_t)&here;
    PyErr_Clear();
    Py_XDECREF(code);
    return result;
}

int tracer_functions_init(struct tracer *t)
{
    if (t->extra_index >= 0)
        return 0;
    t->extra_index = request_index(NULL);
    if (t->extra_index < 0)
        PyErr_SetString(PyExc_RuntimeError, "kymo: no room for data of its own in code objects");
    else if (!reads_extras(t))
        PyErr_SetString(PyExc_RuntimeError, "kymo: code objects of this build are not known");
    else
        return 0;
    t->extra_index = -1;
    return -1;
}

/* ---- texts ---- */

struct text {
    const char *at;
    uint32_t len;
};

/* The UTF-8 form, which the object keeps. One that has none (lone surrogates) has no name. */
static struct text text_of(PyObject *string)
{
    Py_ssize_t len;
    const char *at =
        string && PyUnicode_Check(string) ? PyUnicode_AsUTF8AndSize(string, &len) : NULL;
    if (!at) {
        PyErr_Clear();
        return (struct text){"", 0};
    }
    return (struct text){at, len < INT32_MAX ? (uint32_t)len : INT32_MAX};
}

static uint32_t define(uint32_t language, struct text name, struct text file, uint32_t line)
{
    struct kymo_trace_function f = {
        .size = sizeof f,
        .language = language,
        .first_line = line,
        .name_len = name.len,
        .file_len = file.len,
        .name = name.at,
        .file = file.at,
    };
    return tracer_calls->define(&f);
}

/* ---- code ---- */

/* Whether one of the patterns, which are str, fits the file's name. */
static int fits(PyObject *patterns, const char *file)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(patterns); i++)
        if (fnmatch(text_of(PyTuple_GET_ITEM(patterns, i)).at, file, 0) == 0)
            return 1;
    return 0;
}

static int is_hidden(const struct tracer_options *o, const char *file)
{
    return (o->exclude && fits(o->exclude, file)) ||
           (o->include && PyTuple_GET_SIZE(o->include) && !fits(o->include, file));
}

static uint32_t define_code(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    struct text name = text_of(code->co_qualname);
#else
    struct text name = text_of(code->co_name);
#endif
    return define(KYMO_TRACE_PYTHON, name, text_of(code->co_filename),
                  (uint32_t)code->co_firstlineno);
}

uint32_t tracer_look_at_code(struct tracer *t, PyCodeObject *code, uint32_t key)
{
    uint64_t before = tracer_code_extra(t, code);
    /* Other filters than those when it was looked at last: its number stays. */
    uint32_t number = before >> 48 == key >> 16 ? (uint32_t)before & TRACER_NUMBER : 0;
    int hides = is_hidden(&t->options, text_of(code->co_filename).at);
    if (!hides && !number)
        number = define_code(code);
    uint32_t word = number | (hides ? TRACER_HIDDEN : 0);
    if (tracer_is_watched(t, code))
        word |= TRACER_WATCHED;
    void *value = (void *)(uintptr_t)((uint64_t)key << 32 | word);
    /* Without a number it is told of again the next time: there may be room then. */
    if (number || hides)
        (void)set_extra((PyObject *)code, t->extra_index, value);
    PyErr_Clear();
    return word;
}

void tracer_watch_code(struct tracer *t, PyCodeObject *code)
{
    uint64_t extra = tracer_code_extra(t, code);
    /* One that has no number yet is looked at when it gets one. */
    if (extra)
        (void)set_extra((PyObject *)code, t->extra_index,
                        (void *)(uintptr_t)(extra | TRACER_WATCHED));
    PyErr_Clear();
}

/* ---- native functions ---- */

static struct tracer_native *find(const struct tracer *t, const PyMethodDef *method)
{
    const struct tracer_native *end = t->natives.rows + t->natives.size;
    struct tracer_native *n = tracer_native_place(t, method);
    while (n->method && n->method != method)
        n = n + 1 < end ? n + 1 : t->natives.rows;
    return n;
}

static int grow(struct tracer *t)
{
    size_t size = t->natives.size ? t->natives.size * 2 : 1024;
    struct tracer_native *before = t->natives.rows;
    size_t count = t->natives.size;
    struct tracer_native *rows = PyMem_RawCalloc(size, sizeof *rows);
    if (!rows)
        return 0;
    t->natives.rows = rows;
    t->natives.size = size;
    for (size_t i = 0; i < count; i++)
        if (before[i].method)
            *find(t, before[i].method) = before[i];
    PyMem_RawFree(before);
    return 1;
}

/* "module.function", or "type.method". */
static uint32_t define_native(PyObject *callable, const PyMethodDef *method)
{
    char name[512];
    const char *owner = NULL;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
        owner = PyDescr_TYPE(callable)->tp_name;
    } else {
        PyObject *module = ((PyCFunctionObject *)callable)->m_module;
        PyObject *self = PyCFunction_GET_SELF(callable);
        if (module && PyUnicode_Check(module))
            owner = text_of(module).at;
        else if (self && PyModule_Check(self))
            owner = PyModule_GetName(self);
        else if (self && PyType_Check(self))
            owner = ((PyTypeObject *)self)->tp_name;
        else if (self)
            owner = Py_TYPE(self)->tp_name;
        PyErr_Clear();
    }
    int len = PyOS_snprintf(name, sizeof name, "%.250s%s%.250s", owner ? owner : "",
                            owner ? "." : "", method->ml_name);
    return define(KYMO_TRACE_PYTHON_NATIVE, (struct text){name, len > 0 ? (uint32_t)len : 0},
                  (struct text){NULL, 0}, 0);
}

uint32_t tracer_native_number(struct tracer *t, PyObject *callable, uint32_t key)
{
    uint32_t epoch = key >> 16;
    const PyMethodDef *method = tracer_method_of(callable);
    if (t->natives.used * 2 >= t->natives.size && !grow(t))
        return 0;
    struct tracer_native *n = find(t, method);
    if (n->method && n->name == method->ml_name && n->number >> 32 == epoch)
        return (uint32_t)n->number;
    uint32_t number = define_native(callable, method);
    t->natives.used += !n->method;
    *n = (struct tracer_native){method, method->ml_name, (uint64_t)epoch << 32 | number};
    return number;
}

void tracer_functions_clear(struct tracer *t)
{
    PyMem_RawFree(t->natives.rows);
}
