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

/* What numbers belong to: the epoch and the filters. 0: this process is not recorded now. */
TRACER_INLINE uint32_t tracer_key(const struct tracer *t)
{
    uint32_t epoch = __atomic_load_n(tracer_calls->epoch, __ATOMIC_RELAXED);
    return epoch ? epoch << 16 | t->options.version : 0;
}

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

TRACER_INLINE uint32_t tracer_code_word(struct tracer *t, PyCodeObject *code, uint32_t key)
{
    uint64_t extra = tracer_code_extra(t, code);
    return extra >> 32 == key ? (uint32_t)extra : tracer_look_at_code(t, code, key);
}

/* Whether calls of it are traced: built-in functions and methods, as sys.setprofile has them. */
TRACER_INLINE int tracer_is_native(PyObject *callable)
{
    return PyCFunction_CheckExact(callable) || Py_IS_TYPE(callable, &PyMethodDescr_Type) ||
           PyCMethod_CheckExact(callable);
}

/* ---- events.c: what is rare ---- */

#define TRACER_NO_EVENT UINT32_MAX /* a kind */
/* An event, behind the frames that run already: it is the thread's first. inside: so many of the
 * innermost frames are not told of. */
void tracer_tell_first(struct tracer *t, uint32_t kind, uint32_t number, uint32_t key, int inside);
/* Events of code that has a flag. */
void tracer_enter_special(struct tracer *t, PyCodeObject *code, uint32_t kind, uint32_t word,
                          uint32_t key);
void tracer_leave_special(struct tracer *t, PyCodeObject *code, uint32_t kind, uint32_t word,
                          uint32_t key);

/* ---- calls of Python functions; what ends needs no number ---- */

TRACER_INLINE void tracer_tell(struct tracer *t, uint32_t kind, uint32_t number, uint32_t key,
                               int inside)
{
    if (TRACER_UNLIKELY(tracer_calls->event(kind, number) == KYMO_TRACE_IS_NEW))
        tracer_tell_first(t, kind, number, key, inside);
}

TRACER_INLINE void tracer_enter_code(struct tracer *t, PyCodeObject *code, uint32_t kind)
{
    uint32_t key = tracer_key(t);
    if (TRACER_UNLIKELY(!key))
        return;
    uint32_t word = tracer_code_word(t, code, key);
    if (TRACER_UNLIKELY(word > TRACER_NUMBER))
        tracer_enter_special(t, code, kind, word, key);
    else
        tracer_tell(t, kind, word, key, 1);
}

TRACER_INLINE void tracer_leave_code(struct tracer *t, PyCodeObject *code, uint32_t kind)
{
    uint32_t key = tracer_key(t);
    if (TRACER_UNLIKELY(!key))
        return;
    uint32_t word = tracer_code_word(t, code, key);
    if (TRACER_UNLIKELY(word > TRACER_NUMBER))
        tracer_leave_special(t, code, kind, word, key);
    else
        tracer_tell(t, kind, 0, key, 0);
}

/* ---- calls of others ---- */

/* What left-out code calls is left out, too. */
TRACER_INLINE int tracer_is_left_out(struct tracer *t, PyCodeObject *caller, uint32_t key)
{
    return TRACER_UNLIKELY(t->options.filters) && tracer_code_word(t, caller, key) & TRACER_HIDDEN;
}

TRACER_INLINE void tracer_enter_native(struct tracer *t, PyObject *callable, PyCodeObject *caller)
{
    uint32_t key = tracer_key(t);
    if (TRACER_UNLIKELY(!key) || tracer_is_left_out(t, caller, key))
        return;
    tracer_tell(t, KYMO_TRACE_CALL, tracer_native_number(t, callable, key), key, 0);
}

/* A return that is a thread's first event is of a call that nothing told of. */
TRACER_INLINE void tracer_leave_native(struct tracer *t, PyCodeObject *caller, uint32_t kind)
{
    uint32_t key = tracer_key(t);
    if (TRACER_UNLIKELY(!key) || tracer_is_left_out(t, caller, key))
        return;
    if (TRACER_UNLIKELY(tracer_calls->event(kind, 0) == KYMO_TRACE_IS_NEW))
        tracer_tell_first(t, TRACER_NO_EVENT, 0, key, 0);
}

#endif
