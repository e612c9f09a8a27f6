/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers.c - exceptions, collections, imports and log records, as markers of the C API.
 *
 * Nothing of the program is called for them: no __str__, no format. What is not plain text at hand
 * is left out.
 */
#include "tracer.h"

#include <kymo/marker.h>

KYMO_CATEGORY(exceptions, "Exceptions", RED);
KYMO_CATEGORY(imports, "Imports", PURPLE);
KYMO_CATEGORY(collections, "GarbageCollection", ORANGE);
KYMO_CATEGORY(logs, "Logs", GREEN);
KYMO_CATEGORY(tracing, "Tracing", RED);

#define EXCEPTION(F)                                                 \
    F(str, exception, "Type", UNIQUE_STRING, KYMO_FIELD_SEARCHABLE)  \
    F(text, value, "Value", SANITIZED_STRING, KYMO_FIELD_SEARCHABLE) \
    F(str, file, "File", FILE_PATH, KYMO_FIELD_SEARCHABLE)           \
    F(u32, line, "Line", INTEGER, 0)
#define IMPORT(F) F(str, module, "Module", UNIQUE_STRING, KYMO_FIELD_SEARCHABLE)
#define GC(F)                                    \
    F(u32, generation, "Generation", INTEGER, 0) \
    F(u64, collected, "Collected", INTEGER, 0)   \
    F(u64, uncollectable, "Uncollectable", INTEGER, 0)
#define LOG(F)                                                     \
    F(str, level, "Level", UNIQUE_STRING, KYMO_FIELD_SEARCHABLE)   \
    F(str, logger, "Logger", UNIQUE_STRING, KYMO_FIELD_SEARCHABLE) \
    F(text, text, "Text", SANITIZED_STRING, KYMO_FIELD_SEARCHABLE)

#define EVERYWHERE (KYMO_SHOW_CHART | KYMO_SHOW_TABLE | KYMO_SHOW_OVERVIEW)

KYMO_TYPE(python_exception, "Exception", EXCEPTION, .show = EVERYWHERE,
          KYMO_ALL_LABELS(python_exception, "", exception, ": ", value));
KYMO_TYPE(python_import, "Import", IMPORT, .show = EVERYWHERE,
          KYMO_ALL_LABELS(python_import, "", module));
KYMO_TYPE(python_gc, "GC", GC, .show = EVERYWHERE,
          KYMO_ALL_LABELS(python_gc, "generation ", generation));
KYMO_TYPE(python_log, "Log", LOG, .show = EVERYWHERE,
          KYMO_ALL_LABELS(python_log, "", level, " ", logger, ": ", text));

/* ---- texts ---- */

static const char *utf8_of(PyObject *string, Py_ssize_t *len)
{
    const char *at = NULL;
    *len = 0;
    if (string && PyUnicode_Check(string) && !(at = PyUnicode_AsUTF8AndSize(string, len)))
        PyErr_Clear();
    return at;
}

/* ---- exceptions ---- */

/* The one argument of the exception, if it is text. */
static PyObject *message_of(PyObject *exception)
{
    PyObject *args = ((PyBaseExceptionObject *)exception)->args;
    if (!args || !PyTuple_CheckExact(args) || PyTuple_GET_SIZE(args) == 0)
        return NULL;
    PyObject *last = PyTuple_GET_ITEM(args, PyTuple_GET_SIZE(args) - 1);
    return PyUnicode_CheckExact(last) ? last : NULL;
}

void tracer_mark_exception(PyObject *exception, PyCodeObject *code, int line)
{
    Py_ssize_t len, file_len;
    if (!KYMO_IS_ON(exceptions) || !PyExceptionInstance_Check(exception))
        return;
    const char *text = utf8_of(message_of(exception), &len);
    KYMO_MARKER_T(exceptions, "Exception", python_exception,
                  .exception = Py_TYPE(exception)->tp_name, .value = KYMO_TEXT(text, (size_t)len),
                  .file = utf8_of(code->co_filename, &file_len),
                  .line = line > 0 ? (uint32_t)line : 0);
}

void tracer_mark_replaced(void)
{
    KYMO_MARKER(tracing, "Tracing ended: another profiler in this thread");
}

/* ---- garbage collections ---- */

static uint64_t number_of(PyObject *info, const char *key)
{
    PyObject *value = PyDict_GetItemString(info, key);
    uint64_t number = value && PyLong_Check(value) ? PyLong_AsUnsignedLongLong(value) : 0;
    PyErr_Clear();
    return number;
}

static PyObject *on_collection(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Py_ssize_t len;
    (void)self;
    const char *phase = count > 0 ? utf8_of(args[0], &len) : NULL;
    if (!phase || count < 2 || !PyDict_Check(args[1]))
        Py_RETURN_NONE;
    struct tracer *t = tracer_of_interpreter();
    if (!t)
        return NULL;
    if (strcmp(phase, "start") == 0) {
        t->collection_begun = kymo_now();
    } else if (t->collection_begun) {
        KYMO_MARKER_T_OPT(collections, "GC", python_gc,
                          KYMO_OPTIONS(.timing = KYMO_TIMING_SINCE, .start = t->collection_begun),
                          .generation = (uint32_t)number_of(args[1], "generation"),
                          .collected = number_of(args[1], "collected"),
                          .uncollectable = number_of(args[1], "uncollectable"));
        t->collection_begun = 0;
    }
    Py_RETURN_NONE;
}

static PyMethodDef collection_method = {"on_collection", (PyCFunction)(void (*)(void))on_collection,
                                        METH_FASTCALL,
                                        "Marks a garbage collection; an entry of gc.callbacks."};

static PyObject *gc_callbacks(void)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *list = gc ? PyObject_GetAttrString(gc, "callbacks") : NULL;
    Py_XDECREF(gc);
    if (list && !PyList_Check(list))
        Py_CLEAR(list);
    return list;
}

int tracer_markers_hook(struct tracer *t)
{
    PyObject *list = gc_callbacks();
    if (!list)
        return -1;
    if (!t->collection_callback)
        t->collection_callback = PyCFunction_New(&collection_method, NULL);
    int result = t->collection_callback ? PyList_Append(list, t->collection_callback) : -1;
    Py_DECREF(list);
    return result;
}

void tracer_markers_unhook(struct tracer *t)
{
    PyObject *list = gc_callbacks();
    Py_ssize_t at =
        list && t->collection_callback ? PySequence_Index(list, t->collection_callback) : -1;
    if (at >= 0)
        (void)PySequence_DelItem(list, at);
    Py_XDECREF(list);
    PyErr_Clear();
}

/* ---- imports ---- */

#define IMPORT_DEPTH 64

/* Of a thread; imports nest, also those of several interpreters. Deeper ones are not marked. */
struct imports_running {
    uint32_t depth;
    int64_t owners[IMPORT_DEPTH]; /* the interpreter's id */
    uint64_t begun[IMPORT_DEPTH];
    PyObject *names[IMPORT_DEPTH]; /* owned until the import's end */
};

/* NULL: none runs. Not the structure itself: storage of threads is scarce where a library, such as
 * the recorder's, is loaded late. */
static _Thread_local struct imports_running *running __attribute__((tls_model("initial-exec")));

void tracer_import_begin(const struct tracer *t, PyObject *name)
{
    if (!running && !(running = PyMem_RawCalloc(1, sizeof *running)))
        return;
    uint32_t at = running->depth++;
    if (at >= IMPORT_DEPTH)
        return;
    Py_XINCREF(name);
    running->owners[at] = t->id;
    running->names[at] = name;
    running->begun[at] = KYMO_IS_ON(imports) ? kymo_now() : 0;
}

/* Forgets imports of other interpreters within the innermost one of this: their ends were not
 * traced. Their names may be gone by now. Returns 0 if this one has none. */
static int find_own(const struct tracer *t)
{
    uint32_t depth = running ? running->depth : 0;
    while (depth > 0 && depth <= IMPORT_DEPTH && running->owners[depth - 1] != t->id)
        depth--;
    if (depth == 0)
        return 0;
    running->depth = depth;
    return 1;
}

static void mark_import(uint32_t at)
{
    Py_ssize_t len;
    const char *name = utf8_of(running->names[at], &len);
    if (running->begun[at] && name)
        KYMO_MARKER_T_OPT(imports, "Import", python_import,
                          KYMO_OPTIONS(.timing = KYMO_TIMING_SINCE, .start = running->begun[at]),
                          .module = name);
    Py_CLEAR(running->names[at]);
}

void tracer_import_end(const struct tracer *t)
{
    if (!find_own(t))
        return;
    if (--running->depth < IMPORT_DEPTH)
        mark_import(running->depth);
    if (running->depth == 0) {
        PyMem_RawFree(running);
        running = NULL;
    }
}

/* ---- tasks ---- */

static _Thread_local int has_task __attribute__((tls_model("initial-exec")));

void tracer_label_task(PyObject *name)
{
    Py_ssize_t len;
    const char *text = utf8_of(name, &len);
    if (text)
        KYMO_LABEL_SET("asyncio task", text);
    else if (has_task)
        KYMO_LABEL_CLEAR("asyncio task");
    has_task = text != NULL;
}

/* ---- log records ---- */

/* Whether its text is made by CPython alone. */
static int is_plain(PyObject *value)
{
    return PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyBool_Check(value);
}

static int are_plain(PyObject *args)
{
    if (!PyTuple_CheckExact(args))
        return is_plain(args);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        if (!is_plain(PyTuple_GET_ITEM(args, i)))
            return 0;
    return PyTuple_GET_SIZE(args) > 0;
}

/* The message, formatted if nothing of the program has to be called for it. A new reference. */
static PyObject *text_of(PyObject *message, PyObject *args)
{
    PyObject *text = NULL;
    if (!message || !PyUnicode_CheckExact(message))
        return NULL;
    if (args && are_plain(args))
        text = PyUnicode_Format(message, args);
    PyErr_Clear();
    if (!text) {
        Py_INCREF(message);
        text = message;
    }
    return text;
}

void tracer_mark_record(PyObject *record)
{
    Py_ssize_t len, unused;
    /* Its attributes as they are stored: a subclass may compute them. */
    PyObject *of = KYMO_IS_ON(logs) ? PyObject_GenericGetDict(record, NULL) : NULL;
    PyErr_Clear();
    if (!of || !PyDict_Check(of)) {
        Py_XDECREF(of);
        return;
    }
    PyObject *text = text_of(PyDict_GetItemString(of, "msg"), PyDict_GetItemString(of, "args"));
    const char *at = utf8_of(text, &len);
    KYMO_MARKER_T(logs, "Log", python_log,
                  .level = utf8_of(PyDict_GetItemString(of, "levelname"), &unused),
                  .logger = utf8_of(PyDict_GetItemString(of, "name"), &unused),
                  .text = KYMO_TEXT(at, (size_t)len));
    Py_XDECREF(text);
    Py_DECREF(of);
}
