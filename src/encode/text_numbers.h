/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_numbers.h - numbers the strings of one file of protocol buffers.
 *
 * Layer:    encode; above profile
 * Flow:     texts of a profile -> [text_numbers] -> the table of strings in pprof and OTLP files
 * Threads:  one owner at a time
 * Memory:   four bytes for each string of the profile; copies of other texts
 * Signals:  not for handlers
 *
 * A string is numbered and written when it is first used. Fields of different kinds may come in any
 * order, so the table is not kept in memory.
 */
#ifndef KYMO_ENCODE_TEXT_NUMBERS_H
#define KYMO_ENCODE_TEXT_NUMBERS_H

#include "base/proto.h"
#include "profile/tables.h"

/* A string that is not in the profile. */
struct kymo_text_made {
    kymo_text text;
    uint32_t number;
};

typedef struct kymo_text_numbers {
    const kymo_profile *p;
    kymo_proto *to; /* holds only whole fields, so a string may be inserted at any time */
    unsigned field;
    uint32_t count; /* written so far */
    uint32_t *of;   /* by string of the profile; 0: not yet */
    KYMO_VEC(struct kymo_text_made) made;
    kymo_index made_index;
    kymo_arena arena;
} kymo_text_numbers;

/* Strings are written to a message as this field. count: how many it has already; with 0, the empty
 * string is written, which has number 0. To deinit also after KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_text_numbers_init(kymo_text_numbers *numbers, const kymo_profile *profile,
                                kymo_proto *to, unsigned field, uint32_t count);
void kymo_text_numbers_deinit(kymo_text_numbers *numbers);

/* The number of a string of the profile; and of any text. A failed allocation is to->failed. */
uint32_t kymo_text_number(kymo_text_numbers *numbers, uint32_t string);
uint32_t kymo_text_number_of(kymo_text_numbers *numbers, const char *text, size_t len);

#endif
