/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer.h - the parts of the extension module kymo._kymo.
 *
 * Flow:     CPython's hooks (hook_monitoring.c from 3.12 on, hook_profile.c before) -> [tracer]
 *           -> functions.c (numbers) -> the library of the recorder, by kymo/trace_abi.h
 * Threads:  all with the GIL of their interpreter. From 3.12 on there may be several such locks, so
 *           what is written is of one interpreter (struct tracer), of one thread, or atomic
 * Memory:   of each interpreter a table of native functions; nothing keeps Python's frames, code or
 *           objects alive
 * Signals:  not for handlers
 *
 * Markers (markers.c) tell of exceptions, collections, imports and log records.
 */
#ifndef KYMO_PYTHON_TRACER_H
#define KYMO_PYTHON_TRACER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <kymo/trace_abi.h>

#include "marks.h"

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

/* ---- watch.c: calls that mean more than a call ---- */

enum tracer_watched {
    TRACER_LOADS_MODULE,
    TRACER_BEGINS_THREAD,
    TRACER_RUNS_STEP,
    TRACER_HANDLES_RECORD,
    TRACER_WATCHES,
};

/* ---- interpreter.c: what belongs to one interpreter ---- */

struct tracer_native;

struct tracer {
    struct tracer_options options;
    /* The place of a code object's word: the key in the upper half. -1: none yet. */
    Py_ssize_t extra_index;
    struct {
        struct tracer_native *rows;
        size_t used, size; /* a power of two */
    } natives;
    /* NULL: not found yet. References. */
    const PyCodeObject *watched[TRACER_WATCHES];
    uint64_t collection_begun; /* 0: none runs */
    PyObject *collection_callback;
    struct marks marks;
    int64_t id;        /* of the interpreter: of no other one of the process */
    PyObject *capsule; /* that this lives as long as; borrowed */
    int is_hooked;
    int is_paused; /* is not hooked, and resume() hooks it again */
    /* Blocks of kymo.traced() that run now, in any thread. The last one ends what the first one
     * began. */
    unsigned int blocks;
    int is_of_block; /* nothing but blocks asked for it */
#if TRACER_HAS_MONITORING
    PyObject *monitoring; /* NULL: not hooked */
    PyObject *callback_type;
    long tool;
#else
    struct tracer *next;
    PyInterpreterState *interpreter;
    int is_ours;                  /* the profile function is set by us */
    int has_given_way;            /* a trace function of the program has taken the place of ours */
    PyObject *real_start;         /* _thread.start_new_thread */
    PyObject *real_set, *our_set; /* sys.setprofile */
#endif
};

/* Of the calling thread's interpreter. NULL: no memory, with an exception. */
struct tracer *tracer_of_interpreter(void);
/* The same, for a function of the module. */
static inline struct tracer *tracer_of(PyObject *module)
{
    return *(struct tracer **)PyModule_GetState(module);
}
/* How many interpreters are hooked. Atomic. */
extern unsigned int tracer_hooked;

/* ---- link.c: the library of the recorder ---- */

/* NULL: no recorder was found yet. Of the process; once set it stays. */
extern const struct kymo_trace_calls *tracer_calls;

/* Where the calling thread's events come to lie; it takes of the room that glibc keeps for
 * libraries that are loaded late: else each access would be a call. */
extern _Thread_local struct kymo_trace_place *tracer_place
    __attribute__((tls_model("initial-exec")));

/* Returns 0 if there is none, or it wants no calls of Python. */
int tracer_link(void);

/* ---- functions.c: a number for each function ---- */

/* Returns -1 with an exception. */
int tracer_functions_init(struct tracer *t);
void tracer_functions_clear(struct tracer *t);
/* What is known of code: its number, and the flags. */
#define TRACER_HIDDEN (1u << 31)  /* it is left out */
#define TRACER_WATCHED (1u << 30) /* it is one of watch.c's */
#define TRACER_NUMBER (TRACER_WATCHED - 1)
/* The word of code that has none for this key. Its number is 0 if there is none. Never fails. */
uint32_t tracer_look_at_code(struct tracer *t, PyCodeObject *code, uint32_t key);
/* It is TRACER_WATCHED from here on. */
void tracer_watch_code(struct tracer *t, PyCodeObject *code);
/* The number of what is called and is not Python; 0 too if it is of no type that is traced. */
uint32_t tracer_native_number(struct tracer *t, PyObject *callable, uint32_t key);

/* ---- events.c ---- */

/* The interpreter is about to be traced, and the calling thread may be so already, since it is
 * inside of a call of another interpreter's: tells of what runs in it. A thread that is new tells
 * of that with its first event. */
void tracer_tell_running(struct tracer *t);

/* ---- watch.c ---- */

/* Finds the functions below, where their modules are loaded. Never fails. */
void tracer_watch_init(struct tracer *t);
void tracer_watch_clear(struct tracer *t);
/* Called when code that is one of them begins and ends. */
int tracer_is_watched(const struct tracer *t, const PyCodeObject *code);
void tracer_watch_begin(struct tracer *t, const PyCodeObject *code);
void tracer_watch_end(struct tracer *t, const PyCodeObject *code);

/* ---- hook_monitoring.c, hook_profile.c: one of them is compiled ---- */

/* Each returns -1 with an exception. */
int tracer_hook(struct tracer *t);
int tracer_unhook(struct tracer *t);
/* At the beginning and the end of an interpreter. */
void tracer_hook_init(struct tracer *t);
void tracer_hook_clear(struct tracer *t);

/* ---- raises.c: exceptions, up to 3.11 ---- */

#if !TRACER_HAS_MONITORING
/* Of all interpreters. They share their lock. */
extern struct tracer *tracer_all;
/* NULL: this one has none. */
struct tracer *tracer_find(const PyInterpreterState *interpreter);
/* Of the calling thread, whose profile function is ours. */
static inline struct tracer *tracer_running(void)
{
    struct tracer *t = tracer_all;
    return __builtin_expect(t && !t->next, 1) ? t : tracer_find(PyThreadState_Get()->interp);
}
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

int tracer_markers_hook(struct tracer *t);
void tracer_markers_unhook(struct tracer *t);
/* An exception is raised in this code. */
void tracer_mark_exception(PyObject *exception, PyCodeObject *code, int line);
/* Another profiler has taken our place in the calling thread. */
void tracer_mark_replaced(void);
/* The calling thread begins to load a module, NULL: of unknown name; and ends that. */
void tracer_import_begin(const struct tracer *t, PyObject *name);
void tracer_import_end(const struct tracer *t);
/* What the calling thread does belongs to the task of this name; NULL: to none. */
void tracer_label_task(PyObject *name);
/* A logger handles this record. */
void tracer_mark_record(PyObject *record);

#endif
