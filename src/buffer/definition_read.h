/* SPDX-License-Identifier: Apache-2.0 */
/*
 * definition_read.h - reads the words and texts of a definition that the program has written.
 *
 * Layer:    buffer (cold)
 * Flow:     drain_definitions.c, recorder/mark_events.c
 * Threads:  one owner at a time
 * Memory:   the caller's; texts point into it
 * Signals:  not for handlers
 *
 * Nothing is read beyond the words that there are: what is missing is 0, or "".
 */
#ifndef KYMO_BUFFER_DEFINITION_READ_H
#define KYMO_BUFFER_DEFINITION_READ_H

#include <stdint.h>

#include "buffer/definition.h"

struct kymo_definition_reader {
    const uint64_t *at;
    uint32_t left; /* words */
    int failed;    /* something was missing, or a text was too long */
};

/* A copy of a definition, with its head. */
struct kymo_definition_reader kymo_definition_reader_of(const struct kymo_definition *definition);

uint64_t kymo_definition_read_word(struct kymo_definition_reader *r);
/* At most KYMO_DEFINITION_TEXT_MAX bytes; not terminated. */
const char *kymo_definition_read_text(struct kymo_definition_reader *r, uint32_t *len);

/* Whether the words of a copy, whose size_bytes is right, are what KYMO_DEFINITIONS says of its
 * kind, and no more. */
int kymo_definition_is_whole(const struct kymo_definition *definition);

#endif
