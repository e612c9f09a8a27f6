/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_parts.h - what the files of marks.h call of each other.
 *
 * Flow:     marks.c (calls) -> marks_places.c (where a marker is found) -> marks_formats.c (what
 *           describe said); marks.c, marks_labels.c -> marks_values.c (values of fields)
 * Threads:  all with the GIL of their interpreter
 * Memory:   see marks.h
 * Signals:  not for handlers
 */
#ifndef KYMO_PYTHON_MARKS_PARTS_H
#define KYMO_PYTHON_MARKS_PARTS_H

#include "marks.h"

#include <kymo/marker.h>

enum { MARKS_FIELDS_MAX = 64 };

/* Whether markers are recorded now. */
static inline int marks_listens(void)
{
    return !KYMO_FREE_THREADED && KYMO_LISTENS_();
}

/* Whether a function got as many arguments as it takes. If not, a TypeError says what it takes. */
static inline int marks_takes(Py_ssize_t count, Py_ssize_t taken, const char *what)
{
    if (count != taken)
        PyErr_SetString(PyExc_TypeError, what);
    return count == taken;
}

/* ---- marks_values.c ---- */

/* What a method of a value raised is dropped. But what is no Exception belongs to the program, such
 * as the KeyboardInterrupt or SystemExit of a signal's handler: it stays set. */
void marks_drop_exception(void);
/* The text of a str; NULL: it is none, or not UTF-8. Lives as long as the object. */
const char *marks_text_of(PyObject *object);
/* A whole number that 64 bits hold; 0: the value is none. */
int marks_as_whole(PyObject *value, int64_t *out);
/* The kind that a field has whose first value this is. */
uint8_t marks_kind_of(PyObject *value);
/* Whether a field of this kind shows the value; None fits every kind. */
int marks_fits(PyObject *value, uint8_t kind);
/* Writes a value to its place in a payload, and returns how many words it has. *kept: as *text of
 * marks_cell. */
uint32_t marks_put(uint64_t *to, PyObject *value, uint8_t kind, PyObject **kept);
/* A value as a cell. *text keeps what the cell points to, and is released after its use; NULL:
 * nothing. An exception of the value's methods that is no Exception stays set. */
struct kymo_mark_cell marks_cell(PyObject *value, PyObject **text);

/* ---- marks_formats.c ---- */

struct marks_format {
    const char *name;     /* as the Firefox Profiler has it */
    uint8_t format, kind; /* KYMO_FORMAT_*, KYMO_KIND_* */
};

/* What describe said of a name; NULL: nothing. Borrowed. */
PyObject *marks_description_of(const struct marks *marks, PyObject *name);
/* What a description says of a field; NULL: nothing. said may be NULL. */
const struct marks_format *marks_format_of(PyObject *said, PyObject *key);
/* The label that a description has; NULL: none. said may be NULL. */
const char *marks_label_of(PyObject *said);

/* ---- marks_places.c ---- */

/* What the arguments of a call mean besides fields. */
enum { MARKS_CATEGORY, MARKS_SINCE, MARKS_STACK, MARKS_RESERVED };

struct marks_variant {
    struct marks_variant *next;
    struct kymo_mark_site *site;
    uint32_t payload_bytes;
    uint64_t takes_any; /* a bit for each field: its kind shows any value as far as it can */
    uint8_t kinds[MARKS_FIELDS_MAX];
};

struct marks_place {
    struct marks_variant *variants; /* the newest first, which floats and integers both fit */
    uint32_t variant_count;         /* up to VARIANTS_MAX, and one that any values fit */
    uint32_t field_count;
    uint8_t fields[MARKS_FIELDS_MAX]; /* which arguments they are */
    uint8_t given[MARKS_RESERVED];    /* which argument it is, + 1; 0: none */
    int is_shared;                    /* enum sharing: each marker says its own name */
};

/* What a marker is called with. Borrowed. */
struct marks_arguments {
    struct marks *marks;
    PyObject *name;
    PyObject *keys;          /* a tuple; NULL: none */
    PyObject *const *values; /* of the keys */
    PyObject *category;      /* among them; NULL: the usual one */
};

/* The category of this name, made at its first use. NULL: there is no library, no memory, or no
 * name. */
struct kymo_mark_category *marks_category(const char *name);
/* The value of the key category; NULL: there is none, or it is None. */
PyObject *marks_category_in(PyObject *const *values, PyObject *keys);
/* The place of a marker, which stays to the end of the interpreter. NULL: no memory, or an
 * exception of a value. */
struct marks_place *marks_find_place(const struct marks_arguments *a);
/* The variant of a place that the values fit. NULL as above. */
struct marks_variant *marks_find_variant(const struct marks_arguments *a, struct marks_place *p);

#endif
