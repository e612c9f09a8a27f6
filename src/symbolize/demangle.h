/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - names as the source has them, out of C++ and Rust (legacy and v0) linker names.
 *
 * Layer:    symbolize (cold half); above base
 * Flow:     linker name -> [demangle] -> function name
 * Threads:  one owner of `out` at a time
 * Memory:   out belongs to the caller
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_DEMANGLE_H
#define KYMO_SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>

#include "base/str.h"

/* Replaces the content of out by what `addr2line -C` shows for name (with parameters; Rust's hash
 * left out) and returns true; returns false, out undefined, when name is not mangled, is damaged,
 * would be longer than 64 KiB, or there is no memory. */
bool kymo_demangle(const char *name, kymo_str *out);

#endif
