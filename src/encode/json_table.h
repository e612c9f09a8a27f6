/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_table.h - a table in JSON: an object of columns, each an array, and their length.
 *
 * Layer:    encode; above json.h
 * Flow:     firefox_shared.c, firefox_samples.c -> [json_table] -> json.c
 * Threads:  one owner at a time
 * Memory:   nothing of its own
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_JSON_TABLE_H
#define KYMO_ENCODE_JSON_TABLE_H

#include "base/json.h"

/* As the value of this key. */
void kymo_json_begin_table(kymo_json *json, const char *name);
/* length: of each column, in rows */
void kymo_json_end_table(kymo_json *json, uint64_t length);

/* The cells follow, and kymo_json_end_array. */
void kymo_json_begin_column(kymo_json *json, const char *name);
/* A column that has one value in all rows: "null", "false", or a digit. */
void kymo_json_constant_column(kymo_json *json, const char *name, const char *literal,
                               uint64_t count);

/* A cell: a number, or null where it has this value. */
void kymo_json_u64_or_null(kymo_json *json, uint32_t value, uint32_t null_value);

#endif
