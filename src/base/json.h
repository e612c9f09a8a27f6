/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - writes JSON into a sink, piece by piece.
 *
 * Layer:    base; above base
 * Flow:     firefox*.c -> [json] -> sink
 * Threads:  one owner at a time
 * Memory:   64 KiB inside the writer
 * Signals:  not for handlers
 *
 * Commas come by themselves. The first error stays: later calls do nothing and kymo_json_finish
 * returns it, so that a caller may write a whole table and look once. Strings must be valid UTF-8.
 */
#ifndef KYMO_BASE_JSON_H
#define KYMO_BASE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

typedef struct kymo_json {
    kymo_sink *sink;
    kymo_err err;
    int needs_comma;
    size_t len;
    char buffer[1 << 16];
} kymo_json;

void kymo_json_init(kymo_json *json, kymo_sink *sink);
/* Writes what is buffered; the first error there was. */
KYMO_NODISCARD
kymo_err kymo_json_finish(kymo_json *json);

void kymo_json_begin_object(kymo_json *json);
void kymo_json_end_object(kymo_json *json);
void kymo_json_begin_array(kymo_json *json);
void kymo_json_end_array(kymo_json *json);
/* The name of the next value; a literal that needs no escapes. */
void kymo_json_key(kymo_json *json, const char *name);
/* The string before was such a name: for names of any text. */
void kymo_json_string_was_key(kymo_json *json);

void kymo_json_null(kymo_json *json);
void kymo_json_bool(kymo_json *json, int value);
void kymo_json_u64(kymo_json *json, uint64_t value);
void kymo_json_i64(kymo_json *json, int64_t value);
/* null for what is not finite, since JSON has no word for it. */
void kymo_json_f64(kymo_json *json, double value);
void kymo_json_ms(kymo_json *json, uint64_t ns);
/* value / 10^digits */
void kymo_json_fixed(kymo_json *json, uint64_t value, unsigned digits);
void kymo_json_signed_fixed(kymo_json *json, int is_negative, uint64_t value, unsigned digits);
void kymo_json_string(kymo_json *json, const char *text, size_t len);
void kymo_json_cstr(kymo_json *json, const char *text);
/* One string out of several calls. */
void kymo_json_string_begin(kymo_json *json);
void kymo_json_string_part(kymo_json *json, const char *text, size_t len);
void kymo_json_string_end(kymo_json *json);

/* key and value, or its beginning */
void kymo_json_key_array(kymo_json *json, const char *name);
void kymo_json_key_object(kymo_json *json, const char *name);
void kymo_json_key_bool(kymo_json *json, const char *name, int value);
void kymo_json_key_i64(kymo_json *json, const char *name, int64_t value);
void kymo_json_key_u64(kymo_json *json, const char *name, uint64_t value);
void kymo_json_key_cstr(kymo_json *json, const char *name, const char *text);
/* Of a time since 1970 "2026-11-27T00:14:30.123Z"; null of 0. */
void kymo_json_key_time(kymo_json *json, const char *name, uint64_t realtime_ns);

#endif
