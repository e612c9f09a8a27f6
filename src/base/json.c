/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/decimal.h"

void kymo_json_init(kymo_json *json, kymo_sink *sink)
{
    json->sink = sink;
    json->err = KYMO_OK;
    json->needs_comma = 0;
    json->len = 0;
}

static void flush(kymo_json *json)
{
    if (json->err == KYMO_OK && json->len > 0)
        json->err = kymo_sink_write(json->sink, json->buffer, json->len);
    json->len = 0;
}

kymo_err kymo_json_finish(kymo_json *json)
{
    flush(json);
    return json->err;
}

/* Room for n bytes, n far below the size of the buffer. */
static char *room(kymo_json *json, size_t n)
{
    if (json->len + n > sizeof json->buffer)
        flush(json);
    return json->buffer + json->len;
}

/* Room for a value of n bytes, behind its comma. */
static char *value_room(kymo_json *json, size_t n)
{
    char *p = room(json, n + 1);
    if (json->needs_comma) {
        *p++ = ',';
        json->len++;
    }
    json->needs_comma = 1;
    return p;
}

static void put_value(kymo_json *json, const char *text, size_t len)
{
    memcpy(value_room(json, len), text, len);
    json->len += len;
}

static void begin(kymo_json *json, char bracket)
{
    put_value(json, &bracket, 1);
    json->needs_comma = 0;
}

static void end(kymo_json *json, char bracket)
{
    *room(json, 1) = bracket;
    json->len++;
    json->needs_comma = 1;
}

void kymo_json_begin_object(kymo_json *json)
{
    begin(json, '{');
}

void kymo_json_end_object(kymo_json *json)
{
    end(json, '}');
}

void kymo_json_begin_array(kymo_json *json)
{
    begin(json, '[');
}

void kymo_json_end_array(kymo_json *json)
{
    end(json, ']');
}

void kymo_json_key(kymo_json *json, const char *name)
{
    size_t len = strlen(name);
    char *p = value_room(json, len + 3);
    *p++ = '"';
    memcpy(p, name, len);
    memcpy(p + len, "\":", 2);
    json->len += len + 3;
    json->needs_comma = 0;
}

void kymo_json_string_was_key(kymo_json *json)
{
    *room(json, 1) = ':';
    json->len++;
    json->needs_comma = 0;
}

void kymo_json_null(kymo_json *json)
{
    put_value(json, "null", 4);
}

void kymo_json_bool(kymo_json *json, int value)
{
    if (value)
        put_value(json, "true", 4);
    else
        put_value(json, "false", 5);
}

void kymo_json_u64(kymo_json *json, uint64_t value)
{
    char *p = value_room(json, KYMO_DECIMAL_MAX);
    json->len += (size_t)(kymo_decimal_u64(p, value) - p);
}

void kymo_json_i64(kymo_json *json, int64_t value)
{
    char *p = value_room(json, KYMO_DECIMAL_MAX);
    json->len += (size_t)(kymo_decimal_i64(p, value) - p);
}

void kymo_json_f64(kymo_json *json, double value)
{
    if (!isfinite(value)) {
        kymo_json_null(json);
        return;
    }
    char *p = value_room(json, KYMO_DECIMAL_MAX);
    json->len += (size_t)(kymo_decimal_f64(p, value) - p);
}

void kymo_json_fixed(kymo_json *json, uint64_t value, unsigned digits)
{
    char *p = value_room(json, KYMO_DECIMAL_MAX);
    json->len += (size_t)(kymo_decimal_fixed(p, value, digits) - p);
}

void kymo_json_signed_fixed(kymo_json *json, int is_negative, uint64_t value, unsigned digits)
{
    char *p = value_room(json, KYMO_DECIMAL_MAX + 1);
    char *end = p;
    if (is_negative && value)
        *end++ = '-';
    json->len += (size_t)(kymo_decimal_fixed(end, value, digits) - p);
}

void kymo_json_ms(kymo_json *json, uint64_t ns)
{
    kymo_json_fixed(json, ns, 6);
}

void kymo_json_string_begin(kymo_json *json)
{
    *value_room(json, 1) = '"';
    json->len++;
}

void kymo_json_string_end(kymo_json *json)
{
    *room(json, 1) = '"';
    json->len++;
}

static int needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

static void put_escape(kymo_json *json, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char *p = room(json, 6);
    const char *shorthand = c == '\n' ? "n" : c == '\t' ? "t" : c == '\r' ? "r" : NULL;
    *p++ = '\\';
    if (shorthand || c >= 0x20) {
        *p = shorthand ? *shorthand : (char)c;
        json->len += 2;
        return;
    }
    memcpy(p, "u00", 3);
    p[3] = hex[c >> 4];
    p[4] = hex[c & 15];
    json->len += 6;
}

void kymo_json_string_part(kymo_json *json, const char *text, size_t len)
{
    size_t from = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && i - from < 4096 && !needs_escape((unsigned char)text[i]))
            continue;
        if (i > from) {
            memcpy(room(json, i - from), text + from, i - from);
            json->len += i - from;
        }
        from = i;
        if (i < len && needs_escape((unsigned char)text[i])) {
            put_escape(json, (unsigned char)text[i]);
            from = i + 1;
        }
    }
}

void kymo_json_string(kymo_json *json, const char *text, size_t len)
{
    kymo_json_string_begin(json);
    kymo_json_string_part(json, text, len);
    kymo_json_string_end(json);
}

void kymo_json_cstr(kymo_json *json, const char *text)
{
    kymo_json_string(json, text, strlen(text));
}

void kymo_json_key_array(kymo_json *j, const char *name)
{
    kymo_json_key(j, name);
    kymo_json_begin_array(j);
}

void kymo_json_key_object(kymo_json *j, const char *name)
{
    kymo_json_key(j, name);
    kymo_json_begin_object(j);
}

#define KEY(kind, type)                                                      \
    void kymo_json_key_##kind(kymo_json *json, const char *name, type value) \
    {                                                                        \
        kymo_json_key(json, name);                                           \
        kymo_json_##kind(json, value);                                       \
    }
KEY(bool, int)
KEY(i64, int64_t)
KEY(u64, uint64_t)
KEY(cstr, const char *)

void kymo_json_key_time(kymo_json *json, const char *name, uint64_t realtime_ns)
{
    char text[64];
    struct tm tm;
    const time_t seconds = (time_t)(realtime_ns / 1000000000u);
    kymo_json_key(json, name);
    if (realtime_ns == 0 || !gmtime_r(&seconds, &tm)) {
        kymo_json_null(json);
        return;
    }
    size_t len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + len, sizeof text - len, ".%03uZ", (unsigned)(realtime_ns / 1000000u % 1000u));
    kymo_json_cstr(json, text);
}
