/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_strings.h - the strings of a symbolizer, each stored once, and demangled names of C++ and
 * Rust (legacy and v0; demangle.c).
 *
 * Layer:    symbolize (cold half); above base
 * Flow:     tables of modules -> [symbol_strings] -> kymo_symbol_frame
 * Threads:  one owner at a time
 * Memory:   owns every string until deinit
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_SYMBOL_STRINGS_H
#define KYMO_SYMBOLIZE_SYMBOL_STRINGS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"

typedef struct kymo_symbol_strings {
    kymo_arena arena;
    kymo_index index;
    KYMO_VEC(const char *) texts;
    KYMO_VEC(const char *) demangled; /* of the text with the same index; NULL: not tried yet */
    kymo_str scratch;
} kymo_symbol_strings;

/* Zero bytes are a valid, empty table. */
void kymo_symbol_strings_deinit(kymo_symbol_strings *strings);
/* The stored copy of text; NULL: no memory. */
KYMO_NODISCARD
const char *kymo_symbol_strings_add(kymo_symbol_strings *strings, const char *text, size_t len);
/* Sets *system to the stored copy of text, and *shown to its demangled form (the same pointer if
 * text is not mangled). */
KYMO_NODISCARD
kymo_err kymo_symbol_strings_add_name(kymo_symbol_strings *strings, const char *text,
                                      const char **system, const char **shown);

/* Sets out to what `addr2line -C` shows for name (with parameters, without Rust's hash) and
 * returns true. Returns false, with out undefined, if name is not mangled, is damaged, would
 * exceed 64 KiB, or there is no memory. */
bool kymo_demangle(const char *name, kymo_str *out);

#endif
