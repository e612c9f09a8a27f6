/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_copy.h - copies code objects of CPython.
 *
 * Layer:    buffer; above unwind (python_walk.h)
 * Flow:     an interpreter's memory -> [code_copy] -> records (code_area.h)
 * Threads:  any
 * Memory:   the caller's
 * Signals:  safe
 */
#ifndef KYMO_BUFFER_CODE_COPY_H
#define KYMO_BUFFER_CODE_COPY_H

#include <stdint.h>

#include "base/attr.h"
#include "buffer/code_area.h"
#include "unwind/python_walk.h"

/* So many bytes at most of each part. */
struct kymo_code_room {
    uint32_t name, file, lines;
    int has_lines;
};

/* Returns 0 if it cannot be read. For each frame of each stack. */
KYMO_SIGNAL_SAFE static inline int kymo_code_identify(const struct kymo_python *python,
                                                      struct kymo_python_pages *pages,
                                                      uint64_t code, struct kymo_code_identity *out)
{
    const struct kymo_python_offsets *o = &python->offsets;
    uint64_t line;
    *out = (struct kymo_code_identity){.address = code};
    if (!kymo_python_load(pages, code + o->file, &out->file) ||
        !kymo_python_load(pages, code + o->name, &out->name) ||
        !kymo_python_load(pages, code + o->lines, &out->lines) ||
        !kymo_python_load(pages, code + o->first_line / 8 * 8, &line))
        return 0;
    out->first_line = (uint32_t)(line >> 8 * (o->first_line % 8));
    return 1;
}

/* 3.13 has a frame of its own around an __init__ that it inlines, which is not shown. */
KYMO_SIGNAL_SAFE static inline int kymo_code_is_hidden(const struct kymo_code_identity *identity)
{
    return identity->file == identity->name;
}

/* The characters of a str as UTF-8, as many as fit; 0: it cannot be read. */
KYMO_SIGNAL_SAFE uint32_t kymo_code_text(const struct kymo_python *python,
                                         struct kymo_python_pages *pages, uint64_t object, char *to,
                                         uint32_t room);
/* How much room its texts need at most, which are read again when they are copied. */
KYMO_SIGNAL_SAFE struct kymo_code_room kymo_code_room(const struct kymo_python *python,
                                                      struct kymo_python_pages *pages,
                                                      const struct kymo_code_identity *identity);
/* Fills a record with so much room behind it; all but its size in words. */
KYMO_SIGNAL_SAFE void kymo_code_fill(const struct kymo_python *python,
                                     struct kymo_python_pages *pages,
                                     const struct kymo_code_identity *identity,
                                     const struct kymo_code_room *room,
                                     struct kymo_code_record *record);

#endif
