/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - markers and intervals: see marks.h.
 *
 * A marker's place is found by its name, its category and the keys of its arguments, in one
 * dictionary. A place knows the kind of each field: that of the first value seen, or of the format
 * that describe gave. A value of another kind makes a variant of the place; None fits every kind.
 * Fields whose kinds change could make 3^n of them: the last one shows all fields as text.
 */
#include "marks.h"

#include <string.h>

#include <kymo/marker.h>

enum { FIELDS_MAX = 64, PLACES_MAX = 1024, VARIANTS_MAX = 16 };

/* What the arguments of a call mean besides fields. */
enum { CATEGORY, SINCE, STACK, RESERVED };
static const char *const reserved_names[RESERVED] = {"category", "since", "stack"};

/* X(format, as the Firefox Profiler names it, kind of the field) */
#define FORMATS(X)                          \
    X(STRING, "string", TEXT)               \
    X(UNIQUE_STRING, "unique-string", TEXT) \
    X(SANITIZED_STRING, "sanitized", TEXT)  \
    X(URL, "url", TEXT)                     \
    X(FILE_PATH, "file-path", TEXT)         \
    X(INTEGER, "integer", OPT_I64)          \
    X(BYTES, "bytes", OPT_I64)              \
    X(HEXADECIMAL, "hexadecimal", OPT_I64)  \
    X(PID, "pid", OPT_I64)                  \
    X(TID, "tid", OPT_I64)                  \
    X(DECIMAL, "decimal", OPT_F64)          \
    X(PERCENTAGE, "percentage", OPT_F64)    \
    X(DURATION, "duration", NS)             \
    X(FLOW_ID, "flow", FLOW)                \
    X(TERMINATING_FLOW_ID, "flow-end", FLOW)

static const struct {
    const char *name;
    uint8_t format, kind;
} formats[] = {
#define ROW(format, name, kind) {name, KYMO_FORMAT_##format, KYMO_KIND_##kind},
    FORMATS(ROW)
#undef ROW
};

struct variant {
    struct variant *next;
    struct kymo_mark_site *site;
    uint32_t payload_bytes;
    uint64_t takes_any; /* a bit for each field: its kind shows any value as far as it can */
    uint8_t kinds[FIELDS_MAX];
};

struct place {
    struct variant *variants; /* the newest first, which floats and integers both fit */
    uint32_t variant_count;   /* up to VARIANTS_MAX, and one that any values fit */
    uint32_t field_count;
    uint8_t fields[FIELDS_MAX]; /* which arguments they are */
    uint8_t given[RESERVED];    /* which argument it is, + 1; 0: none */
    int is_shared;              /* enum sharing: each marker says its own name */
};

/* Whom a place is for. A program may make up names, categories and keys without end. */
enum sharing { OF_ONE_NAME, OF_ALL_NAMES, OF_ALL, SHARINGS }; /* OF_ALL: without fields */

/* All that a call needs, in its frame. */
struct call {
    PyObject *name;
    PyObject *const *values;        /* of the keys */
    PyObject *category;             /* NULL: the usual one */
    struct kymo_mark_options asked; /* its size is 0 if there are none */
    uint64_t payload[FIELDS_MAX * 2];
    PyObject *texts[FIELDS_MAX]; /* that payload points to; references */
    uint32_t text_count;
};

static PyObject *places;       /* {(name, category, keys): capsule}; NULL: not yet */
static PyObject *descriptions; /* {name: (label, {key: index of formats})} */

static int listens(void)
{
    return KYMO_LISTENS_();
}

/* ---- values ---- */

static void keep_text(struct call *c, PyObject *text)
{
    c->texts[c->text_count++] = text;
}

static void release(struct call *c)
{
    for (uint32_t i = 0; i < c->text_count; i++)
        Py_DECREF(c->texts[i]);
}

/* What a method of a value raised is dropped. But what is no Exception belongs to the program, such
 * as the KeyboardInterrupt or SystemExit of a signal's handler: it stays set. */
static void drop_exception(void)
{
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
}

/* A whole number that 64 bits hold. */
static int as_whole(PyObject *value, int64_t *out)
{
    int overflow = 0;
    PyObject *index = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
    *out = index ? PyLong_AsLongLongAndOverflow(index, &overflow) : 0;
    int is_one = index && !overflow && !PyErr_Occurred();
    Py_XDECREF(index);
    drop_exception();
    return is_one;
}

static int as_double(PyObject *value, double *out)
{
    *out = PyUnicode_Check(value) ? 0 : PyFloat_AsDouble(value);
    int is_one = !PyUnicode_Check(value) && !PyErr_Occurred();
    drop_exception();
    return is_one;
}

/* A new reference; NULL: it has none that can be had. */
static PyObject *as_text(PyObject *value)
{
    PyObject *text = PyObject_Str(value);
    drop_exception();
    return text;
}

/* The kind that a field has whose first value this is. */
static uint8_t kind_of(PyObject *value)
{
    int64_t whole;
    if (PyFloat_Check(value))
        return KYMO_KIND_OPT_F64;
    return !PyBool_Check(value) && as_whole(value, &whole) ? KYMO_KIND_OPT_I64 : KYMO_KIND_TEXT;
}

static int fits(PyObject *value, uint8_t kind)
{
    if (value == Py_None)
        return 1;
    uint8_t own = kind_of(value);
    return own == kind || (own == KYMO_KIND_OPT_I64 && kind == KYMO_KIND_OPT_F64);
}

/* Writes a value to its place in the payload, and returns how many words it has. */
static uint32_t put(struct call *c, uint64_t *to, PyObject *value, uint8_t kind)
{
    struct kymo_mark_text text = {NULL, 0};
    double number = 0;
    int64_t whole = 0;
    Py_ssize_t len = 0;
    int is_there = value != Py_None;
    switch (kind) {
    case KYMO_KIND_TEXT: {
        PyObject *string = is_there ? as_text(value) : NULL;
        text.data = string ? PyUnicode_AsUTF8AndSize(string, &len) : NULL;
        text.len = (size_t)len;
        drop_exception();
        if (string)
            keep_text(c, string);
        memcpy(to, &text, sizeof text);
        return 2;
    }
    case KYMO_KIND_OPT_F64:
        to[1] = is_there && as_double(value, &number);
        memcpy(to, &number, sizeof number);
        return 2;
    case KYMO_KIND_OPT_I64:
        to[1] = is_there && as_whole(value, &whole);
        to[0] = (uint64_t)whole;
        return 2;
    case KYMO_KIND_NS: /* Python's times are seconds */
        to[0] = 0;
        if (is_there && as_double(value, &number) && number > -9e9 && number < 9e9)
            to[0] = (uint64_t)(int64_t)(number * 1e9);
        return 1;
    default: /* a flow */
        to[0] = is_there && as_whole(value, &whole) ? kymo_flow((uint64_t)whole) : 0;
        return 1;
    }
}

struct kymo_mark_cell marks_cell(PyObject *value, PyObject **text)
{
    struct kymo_mark_cell cell = {0};
    int64_t whole;
    Py_ssize_t len = 0;
    *text = NULL;
    uint8_t kind = kind_of(value);
    if (kind == KYMO_KIND_OPT_F64) {
        cell.kind = KYMO_KIND_F64;
        cell.as.f64 = PyFloat_AsDouble(value);
    } else if (kind == KYMO_KIND_OPT_I64 && as_whole(value, &whole)) {
        cell.kind = KYMO_KIND_I64;
        cell.as.i64 = whole;
    } else if ((*text = as_text(value))) {
        cell.as.ptr = PyUnicode_AsUTF8AndSize(*text, &len);
        cell.kind = cell.as.ptr ? KYMO_KIND_TEXT : 0;
        cell.len = (uint32_t)(len < INT32_MAX ? len : INT32_MAX);
        drop_exception();
    }
    return cell;
}

/* ---- places ---- */

struct kymo_mark_category *marks_category(const char *name)
{
    const struct kymo_mark_calls *calls = kymo_mark_link_.calls;
    struct kymo_mark_category wanted = {
        .size = sizeof wanted, .name = name, .color = KYMO_COLOR_YELLOW};
    struct kymo_mark_category *category = NULL;
    if (!calls || !name || calls->category_register(&wanted, &category, NULL, 0) != 0)
        return NULL;
    return category;
}

static const char *text_of(PyObject *object)
{
    const char *text = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : NULL;
    PyErr_Clear();
    return text;
}

/* Of a field that was not described. */
static uint8_t format_of(uint8_t kind)
{
    return kind == KYMO_KIND_TEXT      ? KYMO_FORMAT_STRING
           : kind == KYMO_KIND_OPT_F64 ? KYMO_FORMAT_DECIMAL
                                       : KYMO_FORMAT_INTEGER;
}

/* What describe said; NULL: nothing. Borrowed. */
static PyObject *description_of(PyObject *name)
{
    return descriptions ? PyDict_GetItemWithError(descriptions, name) : NULL;
}

/* The index of formats for a field; -1: describe did not say. */
static long format_said(PyObject *said, PyObject *key)
{
    PyObject *index = said ? PyDict_GetItem(PyTuple_GET_ITEM(said, 1), key) : NULL;
    return index ? PyLong_AsLong(index) : -1;
}

/* Registers the type of a place. Returns 0 if it has no fields, or none that can be shown: their
 * keys are no words. */
static int register_type(const struct call *c, const struct place *p, PyObject *keys,
                         PyObject *said, const uint8_t *kinds, const struct kymo_mark_type **type,
                         uint32_t *bytes)
{
    struct kymo_mark_field fields[FIELDS_MAX];
    const char *label = said ? text_of(PyTuple_GET_ITEM(said, 0)) : NULL;
    *bytes = 0;
    if (p->field_count == 0)
        return 0;
    for (uint32_t i = 0; i < p->field_count; i++) {
        PyObject *key = PyTuple_GET_ITEM(keys, p->fields[i]);
        long format = format_said(said, key);
        fields[i] = (struct kymo_mark_field){
            .key = text_of(key),
            .kind = kinds[i],
            .format = format >= 0 ? formats[format].format : format_of(kinds[i]),
        };
        if (!fields[i].key)
            return 0;
        *bytes += kinds[i] == KYMO_KIND_NS || kinds[i] == KYMO_KIND_FLOW ? 8 : 16;
    }
    struct kymo_mark_type wanted = {
        .size = sizeof wanted,
        .name = p->is_shared ? "Python marker" : text_of(c->name),
        .fields = fields,
        .field_count = p->field_count,
        .field_bytes = sizeof fields[0],
        .payload_bytes = *bytes,
        .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE | KYMO_SHOW_OVERVIEW,
        .chart = label,
        .tooltip = label,
        .table = label,
    };
    if (kymo_mark_link_.calls->type_register(&wanted, type, NULL, 0) == 0)
        return 1;
    /* The label may name fields that this marker lacks. */
    wanted.chart = wanted.tooltip = wanted.table = NULL;
    return kymo_mark_link_.calls->type_register(&wanted, type, NULL, 0) == 0;
}

/* The kinds that the values have, or that were described. */
static void find_kinds(const struct call *c, const struct place *p, PyObject *keys, PyObject *said,
                       struct variant *v)
{
    int is_last = p->variant_count >= VARIANTS_MAX;
    for (uint32_t i = 0; i < p->field_count; i++) {
        long format = format_said(said, PyTuple_GET_ITEM(keys, p->fields[i]));
        if (format >= 0)
            v->kinds[i] = formats[format].kind;
        else
            v->kinds[i] = is_last ? KYMO_KIND_TEXT : kind_of(c->values[p->fields[i]]);
        v->takes_any |= (uint64_t)(format >= 0 || is_last) << i;
    }
}

/* A variant for these values. NULL: no memory, or an exception of theirs. */
static struct variant *add_variant(const struct call *c, struct place *p, PyObject *keys)
{
    struct variant *v = PyMem_Calloc(1, sizeof *v);
    PyObject *said = description_of(c->name);
    struct kymo_mark_site wanted = {
        .size = sizeof wanted,
        .name = p->is_shared ? "marker" : text_of(c->name),
        .category =
            marks_category(c->category && p->is_shared != OF_ALL ? text_of(c->category) : "Python"),
    };
    if (!v)
        return NULL;
    Py_XINCREF(said); /* a value's methods may describe the name anew */
    find_kinds(c, p, keys, said, v);
    int failed = PyErr_Occurred() != NULL;
    if (!failed && !register_type(c, p, keys, said, v->kinds, &wanted.type, &v->payload_bytes)) {
        wanted.type = NULL;
        v->payload_bytes = 0;
    }
    Py_XDECREF(said);
    if (failed || !wanted.category || !wanted.name ||
        kymo_mark_link_.calls->site_register(&wanted, &v->site, NULL, 0) != 0) {
        PyMem_Free(v);
        return NULL;
    }
    v->next = p->variants;
    p->variants = v;
    p->variant_count++;
    return v;
}

static struct variant *find_variant(const struct call *c, struct place *p, PyObject *keys)
{
    for (struct variant *v = p->variants; v; v = v->next) {
        uint32_t i = 0;
        while (i < p->field_count &&
               (v->takes_any >> i & 1 || fits(c->values[p->fields[i]], v->kinds[i])))
            i++;
        if (PyErr_Occurred())
            return NULL;
        if (i == p->field_count)
            return v;
    }
    return add_variant(c, p, keys);
}

static int reserved_of(PyObject *key)
{
    for (int i = 0; i < RESERVED; i++)
        if (PyUnicode_CompareWithASCIIString(key, reserved_names[i]) == 0)
            return i;
    return RESERVED;
}

static struct place *make_place(PyObject *keys)
{
    Py_ssize_t count = keys ? PyTuple_GET_SIZE(keys) : 0;
    struct place *p = PyMem_Calloc(1, sizeof *p);
    for (Py_ssize_t i = 0; p && i < count; i++) {
        int reserved = reserved_of(PyTuple_GET_ITEM(keys, i));
        if (reserved < RESERVED)
            p->given[reserved] = (uint8_t)(i + 1);
        else
            p->fields[p->field_count++] = (uint8_t)i;
    }
    return p;
}

/* What a place is found by. A new reference. */
static PyObject *key_of(PyObject *name, PyObject *category, PyObject *keys, int sharing)
{
    if (sharing == OF_ALL)
        category = keys = NULL;
    return PyTuple_Pack(3, sharing == OF_ONE_NAME ? name : Py_None, category ? category : Py_None,
                        keys ? keys : Py_None);
}

static struct place *add_place(PyObject *key, PyObject *keys, int sharing)
{
    struct place *p = make_place(sharing == OF_ALL ? NULL : keys);
    PyObject *capsule = p ? PyCapsule_New(p, NULL, NULL) : NULL;
    if (!capsule || PyDict_SetItem(places, key, capsule) < 0) {
        Py_XDECREF(capsule);
        PyMem_Free(p);
        return NULL;
    }
    Py_DECREF(capsule);
    p->is_shared = sharing;
    return p;
}

/* Stays in the dictionary to the end of the process. */
static struct place *find_place(PyObject *name, PyObject *category, PyObject *keys)
{
    static const Py_ssize_t most[SHARINGS] = {
        [OF_ONE_NAME] = PLACES_MAX, [OF_ALL_NAMES] = 2 * PLACES_MAX, [OF_ALL] = PY_SSIZE_T_MAX};
    struct place *p = NULL;
    if (!places && !(places = PyDict_New()))
        return NULL;
    for (int sharing = OF_ONE_NAME; !p && sharing < SHARINGS; sharing++) {
        PyObject *key = key_of(name, category, keys, sharing);
        PyObject *kept = key ? PyDict_GetItemWithError(places, key) : NULL;
        if (kept)
            p = PyCapsule_GetPointer(kept, NULL);
        else if (!PyErr_Occurred() && PyDict_GET_SIZE(places) < most[sharing])
            p = add_place(key, keys, sharing);
        Py_XDECREF(key);
        if (PyErr_Occurred())
            return NULL;
    }
    return p;
}

/* ---- markers ---- */

/* Quick: it is asked of each key, also without a recorder. */
static int is_category(PyObject *key)
{
    return PyUnicode_GET_LENGTH(key) == sizeof "category" - 1 && reserved_of(key) == CATEGORY;
}

/* Of the keys of a call, the category: what the place is found by. */
static PyObject *category_in(PyObject *const *values, PyObject *keys)
{
    for (Py_ssize_t i = 0; keys && i < PyTuple_GET_SIZE(keys); i++)
        if (is_category(PyTuple_GET_ITEM(keys, i)))
            return values[i] == Py_None ? NULL : values[i];
    return NULL;
}

static int take_arguments(struct call *c, PyObject *const *values, PyObject *name, PyObject *keys)
{
    c->name = name;
    c->values = values;
    c->category = category_in(values, keys);
    c->text_count = 0;
    c->asked = (struct kymo_mark_options){0};
    if (!PyUnicode_Check(name) || (c->category && !PyUnicode_Check(c->category))) {
        PyErr_SetString(PyExc_TypeError, "a marker's name and its category are text");
        return -1;
    }
    if (keys && PyTuple_GET_SIZE(keys) > FIELDS_MAX) {
        PyErr_SetString(PyExc_TypeError, "a marker has at most 64 fields");
        return -1;
    }
    return 0;
}

static void take_options(struct call *c, const struct place *p)
{
    int64_t since;
    int has_stack = 0;
    if (p->is_shared) {
        Py_ssize_t len = 0;
        c->asked.name = PyUnicode_AsUTF8AndSize(c->name, &len);
        c->asked.name_len = (uint32_t)(len < INT32_MAX ? len : INT32_MAX);
        c->asked.size = sizeof c->asked;
        PyErr_Clear();
    }
    if (p->given[SINCE] && as_whole(c->values[p->given[SINCE] - 1], &since) && since > 0) {
        c->asked.timing = KYMO_TIMING_SINCE;
        c->asked.start = (uint64_t)since;
        c->asked.size = sizeof c->asked;
    }
    if (p->given[STACK] && !PyErr_Occurred())
        has_stack = PyObject_IsTrue(c->values[p->given[STACK] - 1]) > 0;
    drop_exception();
    if (has_stack) {
        c->asked.stack = KYMO_STACK_HERE;
        c->asked.size = sizeof c->asked;
    }
}

/* Makes the marker; timing: of an interval's end, or what the arguments say. -1: an exception. */
static int mark(struct call *c, PyObject *keys, uint32_t timing, uint64_t id)
{
    struct place *p = find_place(c->name, c->category, keys);
    struct variant *v = p ? find_variant(c, p, keys) : NULL;
    if (!v || !kymo_mark_load_(v->site->category)) {
        drop_exception();
        return PyErr_Occurred() ? -1 : 0;
    }
    uint64_t *to = c->payload;
    for (uint32_t i = 0; i < p->field_count && !PyErr_Occurred(); i++)
        to += put(c, to, c->values[p->fields[i]], v->kinds[i]);
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
    release(c);
    return failed ? -1 : 0;
}

PyObject *marks_marker(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keys)
{
    struct call c;
    (void)self;
    if (count != 1) {
        PyErr_SetString(PyExc_TypeError, "marker takes a name, and fields by their keys");
        return NULL;
    }
    if (take_arguments(&c, args + 1, args[0], keys) < 0 || (listens() && mark(&c, keys, 0, 0) < 0))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *marks_begin(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keys)
{
    struct call c;
    uint64_t id = 0;
    (void)self;
    if (count != 1) {
        PyErr_SetString(PyExc_TypeError, "begin takes a name, and fields by their keys");
        return NULL;
    }
    if (take_arguments(&c, args + 1, args[0], keys) < 0)
        return NULL;
    if (listens()) {
        id = kymo_mark_link_.calls->interval();
        if (mark(&c, keys, KYMO_TIMING_START, id) < 0)
            return NULL;
    }
    return PyLong_FromUnsignedLongLong(id);
}

PyObject *marks_end(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keys)
{
    struct call c;
    (void)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "end takes a name, a number, and fields by their keys");
        return NULL;
    }
    uint64_t id = PyLong_AsUnsignedLongLong(args[1]);
    if (PyErr_Occurred())
        return NULL;
    if (take_arguments(&c, args + 2, args[0], keys) < 0 ||
        (id && listens() && mark(&c, keys, KYMO_TIMING_END, id) < 0))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *marks_now(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyLong_FromUnsignedLongLong(listens() ? kymo_now() : 0);
}

/* ---- how they are shown ---- */

/* {key: index of formats} */
static PyObject *indexes_of(PyObject *keys)
{
    PyObject *out = PyDict_New();
    PyObject *key, *format;
    Py_ssize_t at = 0;
    while (out && PyDict_Next(keys, &at, &key, &format)) {
        const char *name = text_of(format);
        long i = 0;
        while (i < (long)(sizeof formats / sizeof *formats) &&
               (!name || strcmp(formats[i].name, name) != 0))
            i++;
        if (i == (long)(sizeof formats / sizeof *formats)) {
            PyErr_Format(PyExc_ValueError, "%U: there is no format %R", key, format);
            Py_CLEAR(out);
            break;
        }
        PyObject *index = PyLong_FromLong(i);
        if (!index || PyDict_SetItem(out, key, index) < 0)
            Py_CLEAR(out);
        Py_XDECREF(index);
    }
    return out;
}

PyObject *marks_describe(PyObject *self, PyObject *args)
{
    PyObject *name, *label, *keys, *said = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "UOO!", &name, &label, &PyDict_Type, &keys))
        return NULL;
    PyObject *indexes = indexes_of(keys);
    if (indexes && (descriptions || (descriptions = PyDict_New())))
        said = PyTuple_Pack(2, label, indexes);
    int result = said ? PyDict_SetItem(descriptions, name, said) : -1;
    Py_XDECREF(said);
    Py_XDECREF(indexes);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}
