/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - markers and intervals: see marks.h.
 */
#include "marks_parts.h"

/* All that a call needs, in its frame. */
struct call {
    struct marks_arguments given;
    struct kymo_mark_options asked; /* its size is 0 if there are none */
    uint64_t payload[MARKS_FIELDS_MAX * 2];
    PyObject *texts[MARKS_FIELDS_MAX]; /* that payload points to; references */
    uint32_t text_count;
};

static int take_arguments(struct call *c, PyObject *self, PyObject *const *values, PyObject *name,
                          PyObject *keys)
{
    PyObject *category = marks_category_in(values, keys);
    c->given = (struct marks_arguments){marks_of(self), name, keys, values, category};
    c->text_count = 0;
    c->asked = (struct kymo_mark_options){0};
    if (!PyUnicode_Check(name) || (category && !PyUnicode_Check(category))) {
        PyErr_SetString(PyExc_TypeError, "a marker's name and its category are text");
        return -1;
    }
    if (keys && PyTuple_GET_SIZE(keys) > MARKS_FIELDS_MAX) {
        PyErr_SetString(PyExc_TypeError, "a marker has at most 64 fields");
        return -1;
    }
    return 0;
}

/* The value of a reserved key; NULL: it is not given. */
static PyObject *value_of(const struct call *c, const struct marks_place *p, int reserved)
{
    return p->given[reserved] ? c->given.values[p->given[reserved] - 1] : NULL;
}

static void take_options(struct call *c, const struct marks_place *p)
{
    PyObject *start = value_of(c, p, MARKS_SINCE);
    PyObject *stack = value_of(c, p, MARKS_STACK);
    int64_t since;
    int has_stack = 0;
    if (p->is_shared) {
        Py_ssize_t len = 0;
        c->asked.name = PyUnicode_AsUTF8AndSize(c->given.name, &len);
        c->asked.name_len = (uint32_t)(len < INT32_MAX ? len : INT32_MAX);
        c->asked.size = sizeof c->asked;
        PyErr_Clear();
    }
    if (start && marks_as_whole(start, &since) && since > 0) {
        c->asked.timing = KYMO_TIMING_SINCE;
        c->asked.start = (uint64_t)since;
        c->asked.size = sizeof c->asked;
    }
    if (stack && !PyErr_Occurred())
        has_stack = PyObject_IsTrue(stack) > 0;
    marks_drop_exception();
    if (has_stack) {
        c->asked.stack = KYMO_STACK_HERE;
        c->asked.size = sizeof c->asked;
    }
}

/* Writes the fields, until a value raises what is no Exception. */
static void fill_payload(struct call *c, const struct marks_place *p, const struct marks_variant *v)
{
    uint64_t *to = c->payload;
    for (uint32_t i = 0; i < p->field_count && !PyErr_Occurred(); i++) {
        PyObject *text;
        to += marks_put(to, c->given.values[p->fields[i]], v->kinds[i], &text);
        if (text)
            c->texts[c->text_count++] = text;
    }
}

static void release_texts(struct call *c)
{
    for (uint32_t i = 0; i < c->text_count; i++)
        Py_DECREF(c->texts[i]);
}

/* Makes the marker; timing: of an interval's end, or what the arguments say. -1: an exception. */
static int mark(struct call *c, uint32_t timing, uint64_t id)
{
    struct marks_place *p = marks_find_place(&c->given);
    struct marks_variant *v = p ? marks_find_variant(&c->given, p) : NULL;
    if (!v || !kymo_mark_load_(v->site->category)) {
        marks_drop_exception();
        return PyErr_Occurred() ? -1 : 0;
    }
    fill_payload(c, p, v);
    if (!PyErr_Occurred())
        take_options(c, p);
    int failed = PyErr_Occurred() != NULL;
    if (timing) {
        c->asked.timing = timing;
        c->asked.id = id;
        c->asked.size = sizeof c->asked;
    }
    const void *payload = v->payload_bytes ? c->payload : NULL;
    if (!failed && c->asked.size)
        kymo_mark_link_.mark_with(v->site, payload, &c->asked);
    else if (!failed)
        kymo_mark_link_.mark(v->site, payload);
    release_texts(c);
    return failed ? -1 : 0;
}

PyObject *marks_marker(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keys)
{
    struct call c;
    if (!marks_takes(count, 1, "marker takes a name, and fields by their keys"))
        return NULL;
    if (take_arguments(&c, self, args + 1, args[0], keys) < 0 ||
        (marks_listens() && mark(&c, 0, 0) < 0))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *marks_begin(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keys)
{
    struct call c;
    uint64_t id = 0;
    if (!marks_takes(count, 1, "begin takes a name, and fields by their keys"))
        return NULL;
    if (take_arguments(&c, self, args + 1, args[0], keys) < 0)
        return NULL;
    if (marks_listens()) {
        id = kymo_mark_link_.calls->interval();
        if (mark(&c, KYMO_TIMING_START, id) < 0)
            return NULL;
    }
    return PyLong_FromUnsignedLongLong(id);
}

PyObject *marks_end(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keys)
{
    struct call c;
    if (!marks_takes(count, 2, "end takes a name, a number, and fields by their keys"))
        return NULL;
    uint64_t id = PyLong_AsUnsignedLongLong(args[1]);
    if (PyErr_Occurred())
        return NULL;
    if (take_arguments(&c, self, args + 2, args[0], keys) < 0 ||
        (id && marks_listens() && mark(&c, KYMO_TIMING_END, id) < 0))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *marks_now(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyLong_FromUnsignedLongLong(marks_listens() ? kymo_now() : 0);
}

void marks_clear(struct marks *marks)
{
    Py_CLEAR(marks->places);
    Py_CLEAR(marks->descriptions);
}
