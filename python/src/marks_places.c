/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_places.c - what markers of a name have in common.
 *
 * A marker's place is found by its name, its category and the keys of its arguments, in one
 * dictionary. A place knows the kind of each field: that of the first value seen, or of the format
 * that describe gave. A value of another kind makes a variant of the place; None fits every kind.
 * Fields whose kinds change could make 3^n of them: the last one shows all fields as text.
 */
#include "marks_parts.h"

enum { PLACES_MAX = 1024, VARIANTS_MAX = 16 };

static const char *const reserved_names[MARKS_RESERVED] = {"category", "since", "stack"};

/* Whom a place is for. A program may make up names, categories and keys without end. */
enum sharing { OF_ONE_NAME, OF_ALL_NAMES, OF_ALL, SHARINGS }; /* OF_ALL: without fields */

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

/* Of a field that was not described. */
static uint8_t usual_format(uint8_t kind)
{
    return kind == KYMO_KIND_TEXT      ? KYMO_FORMAT_STRING
           : kind == KYMO_KIND_OPT_F64 ? KYMO_FORMAT_DECIMAL
                                       : KYMO_FORMAT_INTEGER;
}

/* Registers the type of a place. Returns 0 if it has no fields, or none that can be shown: their
 * keys are no words. */
static int register_type(const struct marks_arguments *a, const struct marks_place *p,
                         PyObject *said, const uint8_t *kinds, const struct kymo_mark_type **type,
                         uint32_t *bytes)
{
    struct kymo_mark_field fields[MARKS_FIELDS_MAX];
    const char *label = marks_label_of(said);
    *bytes = 0;
    if (p->field_count == 0)
        return 0;
    for (uint32_t i = 0; i < p->field_count; i++) {
        PyObject *key = PyTuple_GET_ITEM(a->keys, p->fields[i]);
        const struct marks_format *format = marks_format_of(said, key);
        fields[i] = (struct kymo_mark_field){
            .key = marks_text_of(key),
            .kind = kinds[i],
            .format = format ? format->format : usual_format(kinds[i]),
        };
        if (!fields[i].key)
            return 0;
        *bytes += kinds[i] == KYMO_KIND_NS || kinds[i] == KYMO_KIND_FLOW ? 8 : 16;
    }
    struct kymo_mark_type wanted = {
        .size = sizeof wanted,
        .name = p->is_shared ? "Python marker" : marks_text_of(a->name),
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
static void find_kinds(const struct marks_arguments *a, const struct marks_place *p, PyObject *said,
                       struct marks_variant *v)
{
    int is_last = p->variant_count >= VARIANTS_MAX;
    for (uint32_t i = 0; i < p->field_count; i++) {
        PyObject *key = PyTuple_GET_ITEM(a->keys, p->fields[i]);
        const struct marks_format *format = marks_format_of(said, key);
        if (format)
            v->kinds[i] = format->kind;
        else
            v->kinds[i] = is_last ? KYMO_KIND_TEXT : marks_kind_of(a->values[p->fields[i]]);
        v->takes_any |= (uint64_t)(format || is_last) << i;
    }
}

/* A variant for these values. NULL: no memory, or an exception of theirs. */
static struct marks_variant *add_variant(const struct marks_arguments *a, struct marks_place *p)
{
    struct marks_variant *v = PyMem_Calloc(1, sizeof *v);
    PyObject *said = marks_description_of(a->marks, a->name);
    struct kymo_mark_site wanted = {
        .size = sizeof wanted,
        .name = p->is_shared ? "marker" : marks_text_of(a->name),
        .category = marks_category(
            a->category && p->is_shared != OF_ALL ? marks_text_of(a->category) : "Python"),
    };
    if (!v)
        return NULL;
    Py_XINCREF(said); /* a value's methods may describe the name anew */
    find_kinds(a, p, said, v);
    int failed = PyErr_Occurred() != NULL;
    if (!failed && !register_type(a, p, said, v->kinds, &wanted.type, &v->payload_bytes)) {
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

struct marks_variant *marks_find_variant(const struct marks_arguments *a, struct marks_place *p)
{
    for (struct marks_variant *v = p->variants; v; v = v->next) {
        uint32_t i = 0;
        while (i < p->field_count &&
               (v->takes_any >> i & 1 || marks_fits(a->values[p->fields[i]], v->kinds[i])))
            i++;
        if (PyErr_Occurred())
            return NULL;
        if (i == p->field_count)
            return v;
    }
    return add_variant(a, p);
}

static int reserved_of(PyObject *key)
{
    for (int i = 0; i < MARKS_RESERVED; i++)
        if (PyUnicode_CompareWithASCIIString(key, reserved_names[i]) == 0)
            return i;
    return MARKS_RESERVED;
}

static struct marks_place *make_place(PyObject *keys)
{
    Py_ssize_t count = keys ? PyTuple_GET_SIZE(keys) : 0;
    struct marks_place *p = PyMem_Calloc(1, sizeof *p);
    for (Py_ssize_t i = 0; p && i < count; i++) {
        int reserved = reserved_of(PyTuple_GET_ITEM(keys, i));
        if (reserved < MARKS_RESERVED)
            p->given[reserved] = (uint8_t)(i + 1);
        else
            p->fields[p->field_count++] = (uint8_t)i;
    }
    return p;
}

/* What a place is found by. A new reference. */
static PyObject *key_of(const struct marks_arguments *a, int sharing)
{
    PyObject *category = sharing == OF_ALL ? NULL : a->category;
    PyObject *keys = sharing == OF_ALL ? NULL : a->keys;
    return PyTuple_Pack(3, sharing == OF_ONE_NAME ? a->name : Py_None,
                        category ? category : Py_None, keys ? keys : Py_None);
}

static void free_place(PyObject *capsule)
{
    struct marks_place *p = PyCapsule_GetPointer(capsule, NULL);
    struct marks_variant *next;
    for (struct marks_variant *v = p ? p->variants : NULL; v; v = next) {
        next = v->next;
        PyMem_Free(v);
    }
    PyMem_Free(p);
}

static struct marks_place *add_place(PyObject *places, PyObject *key, PyObject *keys, int sharing)
{
    struct marks_place *p = make_place(sharing == OF_ALL ? NULL : keys);
    PyObject *capsule = p ? PyCapsule_New(p, NULL, free_place) : NULL;
    if (!capsule) {
        PyMem_Free(p);
        return NULL;
    }
    if (PyDict_SetItem(places, key, capsule) < 0) {
        Py_DECREF(capsule);
        return NULL;
    }
    Py_DECREF(capsule);
    p->is_shared = sharing;
    return p;
}

struct marks_place *marks_find_place(const struct marks_arguments *a)
{
    static const Py_ssize_t most[SHARINGS] = {
        [OF_ONE_NAME] = PLACES_MAX, [OF_ALL_NAMES] = 2 * PLACES_MAX, [OF_ALL] = PY_SSIZE_T_MAX};
    struct marks_place *p = NULL;
    if (!a->marks->places && !(a->marks->places = PyDict_New()))
        return NULL;
    PyObject *places = a->marks->places;
    for (int sharing = OF_ONE_NAME; !p && sharing < SHARINGS; sharing++) {
        PyObject *key = key_of(a, sharing);
        PyObject *kept = key ? PyDict_GetItemWithError(places, key) : NULL;
        if (kept)
            p = PyCapsule_GetPointer(kept, NULL);
        else if (!PyErr_Occurred() && PyDict_GET_SIZE(places) < most[sharing])
            p = add_place(places, key, a->keys, sharing);
        Py_XDECREF(key);
        if (PyErr_Occurred())
            return NULL;
    }
    return p;
}

/* Quick: it is asked of each key, also without a recorder. */
static int is_category(PyObject *key)
{
    return PyUnicode_GET_LENGTH(key) == sizeof "category" - 1 && reserved_of(key) == MARKS_CATEGORY;
}

PyObject *marks_category_in(PyObject *const *values, PyObject *keys)
{
    for (Py_ssize_t i = 0; keys && i < PyTuple_GET_SIZE(keys); i++)
        if (is_category(PyTuple_GET_ITEM(keys, i)))
            return values[i] == Py_None ? NULL : values[i];
    return NULL;
}
