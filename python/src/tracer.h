/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer.h - the parts of the extension module kymo._kymo.
 *
 * Flow:     CPython's hooks (hook_monitoring.c from 3.12 on, hook_profile.c before) -> [tracer]
 *           -> functions.c (numbers) -> the library of the recorder, by kymo/trace_abi.h
 * Threads:  all with the GIL
 * Memory:   a table of native functions; nothing keeps Python's frames, code or objects alive
 * Signals:  not for handlers
 *
 * Markers (markers.c) tell of exceptions, collections, imports and log records.
 */
#ifndef KYMO_PYTHON_TRACER_H
#define KYMO_PYTHON_TRACER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <kymo/trace_abi.h>

/* 3.12 has sys.monitoring. */
#define TRACER_HAS_MONITORING (PY_VERSION_HEX >= 0x030c0000)

/* Which exceptions are markers. From 3.12 on TRACER_LEAVING is TRACER_ALL. */
enum tracer_exceptions {
    TRACER_NONE,
    TRACER_LEAVING, /* those that end a call of a Python function */
    TRACER_ALL,
};

/* What the user asked for. */
struct tracer_options {
    int natives;        /* calls of functions that are not Python */
    int exceptions;     /* enum tracer_exceptions */
    unsigned int depth; /* deeper calls are left out; 0: none is */
    /* Tuples of patterns of files, as fnmatch has them: functions of others, or of these, are left
     * out; NULL or empty: of none. */
    PyObject *include, *exclude;
    int filters;          /* 1: they leave out more than the package itself */
    unsigned int version; /* of include and exclude; of 16 bits */
};

extern struct tracer_options tracer_options;

/* ---- link.c: the library of the recorder ---- */

/* NULL: no recorder, or it wants no calls of Python. */
extern const struct kymo_trace_calls *tracer_calls;

/* Returns 0 if there is none. */
int tracer_link(void);

/* ---- functions.c: a number for each function ---- */

/* Returns -1 with an exception. */
int tracer_functions_init(void);
/* What is known of code: its number, and the flags. */
#define TRACER_HIDDEN (1u << 31)  /* it is left out */
#define TRACER_WATCHED (1u << 30) /* it is one of watch.c's */
#define TRACER_NUMBER (TRACER_WATCHED - 1)
/* The place of that in code objects: the key in the upper half. */
extern Py_ssize_t tracer_extra_index;
/* The word of code that has none for this key. Its number is 0 if there is none. Never fails. */
uint32_t tracer_look_at_code(PyCodeObject *code, uint32_t key);
/* It is TRACER_WATCHED from here on. */
void tracer_watch_code(PyCodeObject *code);
/* The number of what is called and is not Python; 0 too if it is of no type that is traced. */
uint32_t tracer_native_number(PyObject *callable, uint32_t key);

/* ---- watch.c: calls that mean more than a call ---- */

/* Finds the functions below, where their modules are loaded. Never fails. */
void tracer_watch_init(void);
/* Called when code that is one of them begins and ends. */
int tracer_is_watched(const PyCodeObject *code);
void tracer_watch_begin(const PyCodeObject *code);
void tracer_watch_end(const PyCodeObject *code);

/* ---- hook_monitoring.c, hook_profile.c: one of them is compiled ---- */

/* Each returns -1 with an exception. */
int tracer_hook(void);
int tracer_unhook(void);

/* ---- raises.c: exceptions, up to 3.11 ---- */

#if !TRACER_HAS_MONITORING
/* The thread is traced: it gets our trace function, if it has none and always needs it. */
void tracer_raise_follow(PyThreadState *thread);
/* Takes it away again; that of another stays. */
void tracer_raise_leave(PyThreadState *thread);
/* An exception ends the frame. */
void tracer_raise_ended(const PyFrameObject *frame);
/* An exception has left all frames of the thread. */
void tracer_raise_uncaught(PyObject *exception, PyObject *traceback);
#endif

/* ---- markers.c ---- */

int tracer_markers_hook(void);
void tracer_markers_unhook(void);
/* An exception is raised in this code. */
void tracer_mark_exception(PyObject *exception, PyCodeObject *code, int line);
/* Another profiler has taken our place in the calling thread. */
void tracer_mark_replaced(void);
/* The calling thread begins to load a module, NULL: of unknown name; and ends that. */
void tracer_import_begin(PyObject *name);
void tracer_import_end(void);
/* What the calling thread does belongs to the task of this name; NULL: to none. */
void tracer_label_task(PyObject *name);
/* A logger handles this record. */
void tracer_mark_record(PyObject *record);

#endif
