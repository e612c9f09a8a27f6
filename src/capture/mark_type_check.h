/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_type_check.h - whether a type of markers is one: its fields, and the texts that name them.
 *
 * Layer:    capture
 * Flow:     mark_register.c, mark_site.c -> [mark_type_check]
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 */
#ifndef KYMO_CAPTURE_MARK_TYPE_CHECK_H
#define KYMO_CAPTURE_MARK_TYPE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "kymo/marker_abi.h"

/* What is wrong: "what", and which word of the type it is about ("" if none), len bytes. */
struct kymo_mark_fault {
    const char *what;
    const char *word;
    size_t len;
};

/* 0, or 1 and what is wrong. */
KYMO_SIGNAL_SAFE int kymo_mark_type_is_faulty(const struct kymo_mark_type *type,
                                              struct kymo_mark_fault *fault);

#endif
