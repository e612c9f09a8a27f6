/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - events of the calling thread: what each takes, inlined into the hooks.
 *
 * Flow:     hook_monitoring.c, hook_profile.c -> [events] -> kymo/trace_abi.h
 * Threads:  all with the GIL
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_PYTHON_EVENTS_H
#define KYMO_PYTHON_EVENTS_H

#include "tracer.h"

#define TRACER_INLINE static inline __attribute__((always_inline))
#define TRACER_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* How CPython keeps extra data of code objects; tracer_functions_init has seen that it does. */
struct tracer_extras {
    Py_ssize_t size;
    void *at[];
};

/* 0: it has none. */
TRACER_INLINE uint64_t tracer_code_extra(const struct tracer *t, const PyCodeObject *code)
{
    const struct tracer_extras *extras = code->co_extra;
    return extras && extras->size > t->extra_index ? (uintptr_t)extras->at[t->extra_index] : 0;
}

/* ---- native functions: functions.c ---- */

struct tracer_native {
    const PyMethodDef *method; /* NULL: free */
    const char *name;
    uint64_t number; /* epoch << 32 | number */
};

TRACER_INLINE const PyMethodDef *tracer_method_of(PyObject *callable)
{
    return Py_IS_TYPE(callable, &PyMethodDescr_Type) ? ((PyMethodDescrObject *)callable)->d_method
                                                     : ((PyCFunctionObject *)callable)->m_ml;
}

/* Where it is, unless another one was there before; NULL: there is no table. */
TRACER_INLINE struct tracer_native *tracer_native_place(const struct tracer *t,
                                                        const PyMethodDef *method)
{
    size_t hash = ((uintptr_t)method >> 4) * 0x9e3779b97f4a7c15ull >> 20;
    return t->natives.rows ? &t->natives.rows[hash & (t->natives.size - 1)] : NULL;
}

/* Whether calls of it are traced: built-in functions and methods, as sys.setprofile has them. */
TRACER_INLINE int tracer_is_native(PyObject *callable)
{
    return PyCFunction_CheckExact(callable) || Py_IS_TYPE(callable, &PyMethodDescr_Type) ||
           PyCMethod_CheckExact(callable);
}

/* ---- events.c: what is rare ---- */

void tracer_enter_code_slowly(struct tracer *t, PyCodeObject *code, uint32_t kind);
void tracer_leave_code_slowly(struct tracer *t, PyCodeObject *code, uint32_t kind);
void tracer_enter_native_slowly(struct tracer *t, PyObject *callable, PyCodeObject *caller);
void tracer_leave_native_slowly(struct tracer *t, PyCodeObject *caller, uint32_t kind);

/* ---- what is put: see kymo/trace_abi.h ---- */

#ifdef __x86_64__
TRACER_INLINE uint64_t tracer_counter(void)
{
    return __builtin_ia32_rdtsc();
}
#endif

TRACER_INLINE int tracer_put(uint32_t kind, uint32_t number)
{
#ifdef __x86_64__
    return kymo_trace_put(tracer_calls, tracer_place, kind, number, tracer_counter);
#else
    (void)kind;
    (void)number;
    return 0;
#endif
}

/* ---- calls of Python functions; what ends needs no number ----
 *
 * Without a call in the usual way no register has to be saved. A word that has flags, or belongs to
 * another key, is for the slow one. There is none for the key of a process that is not recorded. */

TRACER_INLINE int tracer_put_code(const struct tracer *t, const PyCodeObject *code, uint32_t kind)
{
    uint64_t extra = tracer_code_extra(t, code);
    uint32_t word = (uint32_t)extra, epoch = __atomic_load_n(tracer_calls->epoch, __ATOMIC_RELAXED);
    return extra >> 32 == (epoch << 16 | t->options.version) && word - 1 < TRACER_NUMBER &&
           tracer_put(kind, word);
}

TRACER_INLINE void tracer_enter_code(struct tracer *t, PyCodeObject *code, uint32_t kind)
{
    if (TRACER_UNLIKELY(!tracer_put_code(t, code, kind)))
        tracer_enter_code_slowly(t, code, kind);
}

TRACER_INLINE void tracer_leave_code(struct tracer *t, PyCodeObject *code, uint32_t kind)
{
    if (TRACER_UNLIKELY(!tracer_put_code(t, code, kind)))
        tracer_leave_code_slowly(t, code, kind);
}

/* ---- calls of others ---- */

TRACER_INLINE int tracer_put_native(const struct tracer *t, PyObject *callable)
{
    const PyMethodDef *method = tracer_method_of(callable);
    const struct tracer_native *n = tracer_native_place(t, method);
    uint32_t epoch = __atomic_load_n(tracer_calls->epoch, __ATOMIC_RELAXED);
    int is_known = !t->options.filters && n && n->method == method && n->name == method->ml_name &&
                   n->number >> 32 == epoch;
    return !TRACER_UNLIKELY(!is_known) && tracer_put(KYMO_TRACE_CALL, (uint32_t)n->number);
}

TRACER_INLINE int tracer_put_native_end(const struct tracer *t, uint32_t kind)
{
    int is_recorded = __atomic_load_n(tracer_calls->epoch, __ATOMIC_RELAXED) != 0;
    return !TRACER_UNLIKELY(t->options.filters || !is_recorded) && tracer_put(kind, 0);
}

TRACER_INLINE void tracer_enter_native(struct tracer *t, PyObject *callable, PyCodeObject *caller)
{
    if (TRACER_UNLIKELY(!tracer_put_native(t, callable)))
        tracer_enter_native_slowly(t, callable, caller);
}

TRACER_INLINE void tracer_leave_native(struct tracer *t, PyCodeObject *caller, uint32_t kind)
{
    if (TRACER_UNLIKELY(!tracer_put_native_end(t, kind)))
        tracer_leave_native_slowly(t, caller, kind);
}

#endif
