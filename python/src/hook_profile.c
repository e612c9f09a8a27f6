/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_profile.c - calls by PyEval_SetProfile, up to 3.11.
 *
 * A profile function belongs to a thread. Threads that run already get it here. One that begins
 * later gets it before its first call: _thread.start_new_thread, which threading calls, too, is
 * replaced by a function that starts an object of ours, which sets it and calls what was asked for.
 * Threads that C code makes are not traced.
 */
#include "events.h"

#if !TRACER_HAS_MONITORING

#include <string.h>

#include <frameobject.h>

#define GENERATORS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

struct tracer *tracer_all;

struct tracer *tracer_find(const PyInterpreterState *interpreter)
{
    struct tracer *t = tracer_all;
    while (t && t->interpreter != interpreter)
        t = t->next;
    return t;
}

static int on_profile(PyObject *theirs, PyFrameObject *frame, int what, PyObject *arg);

/* theirs: the program's function; NULL: none. */
static int set_profile(struct tracer *t, PyThreadState *thread, PyObject *theirs)
{
    t->is_ours = 1;
    /* Before: whether the thread has a hook at all is found out now. */
    if (!t->is_hooked)
        tracer_raise_leave(thread);
    int result = _PyEval_SetProfile(thread, t->is_hooked ? on_profile : NULL, theirs);
    t->is_ours = 0;
    if (t->is_hooked && result == 0)
        tracer_raise_follow(thread);
    return result;
}

/* As sys.setprofile has it. */
static int call_theirs(struct tracer *t, PyObject *theirs, PyFrameObject *frame, int what,
                       PyObject *arg)
{
    static const char *const names[] = {
        [PyTrace_CALL] = "call",         [PyTrace_RETURN] = "return",
        [PyTrace_C_CALL] = "c_call",     [PyTrace_C_EXCEPTION] = "c_exception",
        [PyTrace_C_RETURN] = "c_return",
    };
    if (PyFrame_FastToLocalsWithError(frame) < 0)
        return -1;
    Py_INCREF(theirs);
    PyObject *result =
        PyObject_CallFunction(theirs, "OsO", (PyObject *)frame, names[what], arg ? arg : Py_None);
    Py_DECREF(theirs);
    PyFrame_LocalsToFast(frame, 1);
    if (!result) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        (void)set_profile(t, PyThreadState_Get(), NULL);
        PyErr_Restore(type, value, traceback);
    }
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* The calling thread has just set the program's first profile function, so untraced that call of
 * sys.setprofile would have no return event: CPython has one only for calls that it told of. */
static _Thread_local int is_setting __attribute__((tls_model("initial-exec")));

/* ---- the code of a frame, and where it is, without a call and a reference ---- */

#if PY_VERSION_HEX >= 0x030b0000
/* As 3.11 has them. */
struct inner_frame {
    PyObject *function, *globals, *builtins, *locals;
    PyCodeObject *code;
    PyFrameObject *outer;
    struct inner_frame *previous;
    const _Py_CODEUNIT *last; /* that began */
};

struct outer_frame {
    PyObject_HEAD PyFrameObject *back;
    const struct inner_frame *inner;
};

/* Whether this build has them so. */
static int reads_frames;

TRACER_INLINE const PyCodeObject *code_of(const PyFrameObject *frame)
{
    return ((const struct outer_frame *)frame)->inner->code;
}

/* As PyFrame_GetLasti has it, of a frame that has begun. */
TRACER_INLINE int64_t last_of(const PyFrameObject *frame)
{
    const struct inner_frame *inner = ((const struct outer_frame *)frame)->inner;
    return (const char *)inner->last - inner->code->co_code_adaptive;
}

/* RETURN_GENERATOR and POP_TOP have run before the first RESUME. */
TRACER_INLINE int64_t first_of(const PyCodeObject *code)
{
    return code->_co_firsttraceable * (int64_t)sizeof(_Py_CODEUNIT);
}

static void look_at_frames(void)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    reads_frames = code && code_of(frame) == code && last_of(frame) == PyFrame_GetLasti(frame);
    Py_XDECREF(code);
    Py_XDECREF(frame);
}
#else
/* Their frames are public. */
enum { reads_frames = 1 };
#define PyFrame_GetLasti last_of

TRACER_INLINE const PyCodeObject *code_of(const PyFrameObject *frame)
{
    return frame->f_code;
}

TRACER_INLINE int64_t last_of(const PyFrameObject *frame)
{
    return frame->f_lasti;
}

TRACER_INLINE int64_t first_of(const PyCodeObject *code)
{
    (void)code;
    return -1;
}

static void look_at_frames(void)
{
}
#endif

TRACER_INLINE int is_traced_native(const struct tracer *t, PyObject *arg)
{
    return t->options.natives && arg && tracer_is_native(arg);
}

/* ---- events ---- */

/* last: the frame's last instruction. A generator that goes on does not begin. */
TRACER_INLINE uint32_t begins_by(const PyCodeObject *code, int64_t last)
{
    return code->co_flags & GENERATORS && last > first_of(code) ? KYMO_TRACE_RESUME
                                                                : KYMO_TRACE_CALL;
}

/* Puts what most events are, or leaves it out. Returns 0 if it did nothing. */
TRACER_INLINE int put_event(const struct tracer *t, const PyFrameObject *frame, int what,
                            PyObject *arg)
{
    switch (what) {
    case PyTrace_CALL:
        return tracer_put_code(t, code_of(frame), begins_by(code_of(frame), last_of(frame)));
    case PyTrace_RETURN:
        return arg && tracer_put_code(t, code_of(frame), KYMO_TRACE_RETURN);
    case PyTrace_C_CALL:
        return !is_traced_native(t, arg) || tracer_put_native(t, arg);
    case PyTrace_C_RETURN:
        return !is_traced_native(t, arg) || tracer_put_native_end(t, KYMO_TRACE_RETURN);
    default:
        return 0;
    }
}

/* Any event. */
static __attribute__((noinline)) int on_profile_slowly(PyObject *theirs, PyFrameObject *frame,
                                                       int what, PyObject *arg)
{
    struct tracer *t = tracer_running();
    /* The last objects of an interpreter may run code when its tracer is gone. */
    if (TRACER_UNLIKELY(!t))
        return 0;
    int is_code = what == PyTrace_CALL || what == PyTrace_RETURN;
    /* Of native calls it is the caller's, for which filters ask. */
    PyCodeObject *code = is_code || t->options.filters ? PyFrame_GetCode(frame) : NULL;
    int is_native = !is_code && is_traced_native(t, arg);
    switch (what) {
    case PyTrace_CALL:
        if (t->has_given_way)
            tracer_raise_follow(PyThreadState_Get());
        tracer_enter_code(t, code, begins_by(code, PyFrame_GetLasti(frame)));
        break;
    case PyTrace_RETURN:
        if (!arg)
            tracer_raise_ended(frame);
        tracer_leave_code(t, code, arg ? KYMO_TRACE_RETURN : KYMO_TRACE_UNWIND);
        break;
    case PyTrace_C_CALL:
        if (is_native)
            tracer_enter_native(t, arg, code);
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        if (is_native)
            tracer_leave_native(t, code,
                                what == PyTrace_C_RETURN ? KYMO_TRACE_RETURN : KYMO_TRACE_UNWIND);
        break;
    default:
        break;
    }
    Py_XDECREF(code);
    int is_untold = is_setting && what == PyTrace_C_RETURN && arg == t->our_set;
    is_setting = 0;
    return theirs && !is_untold ? call_theirs(t, theirs, frame, what, arg) : 0;
}

static int on_profile(PyObject *theirs, PyFrameObject *frame, int what, PyObject *arg)
{
    const struct tracer *t = tracer_all;
    int is_plain = t && !t->next && !theirs && !is_setting && !t->has_given_way && reads_frames;
    if (TRACER_UNLIKELY(!is_plain) || !put_event(t, frame, what, arg))
        return on_profile_slowly(theirs, frame, what, arg);
    return 0;
}

/* ---- threads that begin ---- */

struct beginning {
    PyObject_HEAD PyObject *function, *args, *names; /* names: NULL, or a dictionary */
};

static PyObject *beginning_call(PyObject *self, PyObject *args, PyObject *names)
{
    const struct beginning *b = (struct beginning *)self;
    struct tracer *t = tracer_running();
    (void)args;
    (void)names;
    if (t && t->is_hooked && set_profile(t, PyThreadState_Get(), NULL) < 0)
        return NULL;
    PyObject *result = PyObject_Call(b->function, b->args, b->names);
    if (result || PyErr_ExceptionMatches(PyExc_SystemExit))
        return result;
    /* As _thread says it, of the program's function. */
    _PyErr_WriteUnraisableMsg("in thread started by", b->function);
    Py_RETURN_NONE;
}

static void beginning_dealloc(PyObject *self)
{
    struct beginning *b = (struct beginning *)self;
    Py_XDECREF(b->function);
    Py_XDECREF(b->args);
    Py_XDECREF(b->names);
    PyObject_Free(self);
}

static PyTypeObject beginning_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kymo._kymo.beginning",
    .tp_basicsize = sizeof(struct beginning),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = beginning_dealloc,
    .tp_call = beginning_call,
    .tp_doc = "What a traced thread runs.",
};

static PyObject *start_new_thread(PyObject *self, PyObject *args)
{
    PyObject *function, *of_function, *names = NULL;
    const struct tracer *t = tracer_find(PyThreadState_Get()->interp);
    (void)self;
    if (!t) {
        PyErr_SetString(PyExc_RuntimeError, "can't start new thread");
        return NULL;
    }
    /* What it would refuse it refuses itself. */
    if (!PyArg_UnpackTuple(args, "start_new_thread", 2, 3, &function, &of_function, &names) ||
        !PyCallable_Check(function) || !PyTuple_Check(of_function) ||
        (names && !PyDict_Check(names))) {
        PyErr_Clear();
        return PyObject_Call(t->real_start, args, NULL);
    }
    struct beginning *b = PyObject_New(struct beginning, &beginning_type);
    if (!b)
        return NULL;
    Py_INCREF(function);
    Py_INCREF(of_function);
    Py_XINCREF(names);
    b->function = function;
    b->args = of_function;
    b->names = names;
    PyObject *thread = PyObject_CallFunction(t->real_start, "N()", (PyObject *)b);
    return thread;
}

static PyMethodDef start_method = {"start_new_thread", start_new_thread, METH_VARARGS, NULL};

/* Puts a function in the place of another one, where a module has that. */
static int replace(const char *module, const char *name, PyObject *before, PyObject *after)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *of = PyDict_GetItemString(modules, module);
    PyObject *now = of ? PyObject_GetAttrString(of, name) : NULL;
    int result = now && now == before ? PyObject_SetAttrString(of, name, after) : 0;
    PyErr_Clear();
    Py_XDECREF(now);
    return result;
}

static int follow_threads(struct tracer *t)
{
    PyObject *module = PyImport_ImportModule("_thread");
    if (!module || PyType_Ready(&beginning_type) < 0)
        return -1;
    t->real_start = PyObject_GetAttrString(module, "start_new_thread");
    /* As the original one: a function of _thread. */
    PyObject *name = PyUnicode_FromString("_thread");
    start_method.ml_doc = t->real_start && PyCFunction_Check(t->real_start)
                              ? ((PyCFunctionObject *)t->real_start)->m_ml->ml_doc
                              : NULL;
    PyObject *ours = t->real_start && name ? PyCFunction_NewEx(&start_method, module, name) : NULL;
    int result = -1;
    if (ours)
        result = replace("_thread", "start_new_thread", t->real_start, ours) |
                 replace("_thread", "start_new", t->real_start, ours) |
                 replace("threading", "_start_new_thread", t->real_start, ours);
    Py_XDECREF(ours);
    Py_XDECREF(name);
    Py_DECREF(module);
    return result;
}

/* ---- other profile and trace functions ---- */

static PyObject *set_theirs(PyObject *self, PyObject *function)
{
    PyThreadState *thread = PyThreadState_Get();
    struct tracer *t = tracer_of_interpreter();
    if (!t)
        return NULL;
    int is_first = t->is_hooked && function != Py_None && !thread->c_profileobj;
    (void)self;
    if (set_profile(t, thread, function == Py_None ? NULL : function) < 0)
        return NULL;
    is_setting = is_first;
    Py_RETURN_NONE;
}

/* Where we are not at work, the real one is there again. */
static PyMethodDef set_method = {"setprofile", set_theirs, METH_O, NULL};
static int on_audit(const char *event, PyObject *args, void *unused)
{
    (void)unused;
    const PyThreadState *thread = tracer_all ? _PyThreadState_UncheckedGet() : NULL;
    struct tracer *t = thread ? tracer_find(thread->interp) : NULL;
    if (!t || !t->is_hooked || t->is_ours)
        return 0;
    /* It comes before the function is set; 3.9 counts threads by what they have then. Ours is set
     * again in calls that begin when the thread has none. */
    if (strcmp(event, "sys.settrace") == 0) {
        t->has_given_way = 1;
        tracer_raise_leave(PyThreadState_Get());
    }
    /* The function, type, exception, traceback. */
    if (strcmp(event, "sys.excepthook") == 0 && PyTuple_GET_SIZE(args) == 4)
        tracer_raise_uncaught(PyTuple_GET_ITEM(args, 2), PyTuple_GET_ITEM(args, 3));
    if (strcmp(event, "sys.setprofile") == 0) {
        tracer_raise_leave(PyThreadState_Get());
        (void)tracer_calls->event(KYMO_TRACE_STOP, 0);
        tracer_mark_replaced();
    }
    return 0;
}

static int follow_profilers(struct tracer *t)
{
    PyObject *module = PyImport_ImportModule("sys");
    PyObject *name = PyUnicode_FromString("sys");
    t->real_set = module ? PyObject_GetAttrString(module, "setprofile") : NULL;
    set_method.ml_doc = t->real_set && PyCFunction_Check(t->real_set)
                            ? ((PyCFunctionObject *)t->real_set)->m_ml->ml_doc
                            : NULL;
    t->our_set = t->real_set && name ? PyCFunction_NewEx(&set_method, module, name) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(name);
    /* One for all interpreters. */
    static int is_told;
    if (t->our_set && !is_told && PySys_AddAuditHook(on_audit, NULL) < 0)
        return -1;
    is_told |= t->our_set != NULL;
    return t->our_set ? 0 : -1;
}

/* ---- installing ---- */

static int hook_all(struct tracer *t)
{
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(t->interpreter); thread;
         thread = PyThreadState_Next(thread))
        if (set_profile(t, thread, NULL) < 0)
            return -1;
    return 0;
}

int tracer_hook(struct tracer *t)
{
    if (!t->real_start && (follow_threads(t) < 0 || follow_profilers(t) < 0))
        return -1;
    look_at_frames();
    t->is_hooked = 1;
    return hook_all(t) < 0 ? -1 : PySys_SetObject("setprofile", t->our_set);
}

int tracer_unhook(struct tracer *t)
{
    t->is_hooked = 0;
    return hook_all(t) < 0 ? -1 : PySys_SetObject("setprofile", t->real_set);
}

void tracer_hook_init(struct tracer *t)
{
    t->interpreter = PyThreadState_Get()->interp;
    t->next = tracer_all;
    tracer_all = t;
}

void tracer_hook_clear(struct tracer *t)
{
    struct tracer **at = &tracer_all;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    Py_CLEAR(t->real_start);
    Py_CLEAR(t->real_set);
    Py_CLEAR(t->our_set);
}

#endif
