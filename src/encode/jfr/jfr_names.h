/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_names.h - names of types and fields, made of text that a program chose.
 *
 * Layer:    encode; above base
 * Flow:     names of markers, counters and sample types -> [jfr_names] -> jfr_metadata.c
 * Threads:  one owner at a time
 * Memory:   names in the caller's arena; eight bytes or more for each here
 * Signals:  not for handlers
 *
 * Readers want names of Java: letters, digits and underscores, no digit first. They find fields by
 * them, so no two of a set are the same.
 */
#ifndef KYMO_ENCODE_JFR_JFR_NAMES_H
#define KYMO_ENCODE_JFR_JFR_NAMES_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

/* Zero bytes are a valid, empty set. */
typedef struct kymo_jfr_names {
    KYMO_VEC(const char *) names;
    kymo_index index;
} kymo_jfr_names;

/* A name like prefix + text that the set does not have, and then has. NULL: no memory. */
const char *kymo_jfr_names_make(kymo_jfr_names *names, kymo_arena *arena, const char *prefix,
                                const char *text);
void kymo_jfr_names_deinit(kymo_jfr_names *names);

#endif
