/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_metadata.h - the description of a chunk's types: an event of its own kind.
 *
 * Layer:    encode; above base
 * Flow:     jfr_types -> [jfr_metadata] -> jfr_chunk.c
 * Threads:  one owner at a time
 * Memory:   while a call lasts, a few words for each text
 * Signals:  not for handlers
 *
 * It is a table of texts, and a tree whose elements and attributes are numbers of texts. Only types
 * that events use are there, and what those are made of.
 */
#ifndef KYMO_ENCODE_JFR_JFR_METADATA_H
#define KYMO_ENCODE_JFR_JFR_METADATA_H

#include "base/error.h"
#include "encode/jfr/jfr_bytes.h"
#include "encode/jfr/jfr_types.h"

/* Appends the event to out. number: another one for each chunk of a file, since readers take a
 * description with the number of the one before for the same. */
KYMO_NODISCARD
kymo_err kymo_jfr_metadata_write(kymo_jfr_bytes *out, const kymo_jfr_type *const *events,
                                 size_t count, uint64_t start_ticks, uint32_t number);

#endif
