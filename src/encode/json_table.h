/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_table.h - a table in JSON: an object of columns, each an array, and their length.
 *
 * Layer:    encode; above json.h
 * Flow:     firefox_shared.c, firefox_samples.c -> [json_table] -> json.c
 * Threads:  one owner at a time
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_JSON_TABLE_H
#define KYMO_ENCODE_JSON_TABLE_H

#include "base/json.h"

/* Begins an object that is a table; length: rows of each column. */
void kymo_json_end_table(kymo_json *json, uint64_t length);

/* A column; the statement writes the cell of row i. */
#define KYMO_JSON_COLUMN(json, name, i, count, cell)      \
    do {                                                  \
        const uint64_t kymo_column_count_ = (count);      \
        kymo_json_key_array((json), (name));              \
        for (uint32_t i = 0; i < kymo_column_count_; i++) \
            cell;                                         \
        kymo_json_end_array(json);                        \
    } while (0)
/* A column with the same value in all rows: "null", "false", or a digit. */
void kymo_json_constant_column(kymo_json *json, const char *name, const char *literal,
                               uint64_t count);

/* A cell: a number, or null if it has the given value. */
void kymo_json_u64_or_null(kymo_json *json, uint32_t value, uint32_t null_value);

#endif
