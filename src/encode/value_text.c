/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/value_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "encode/encoder.h"

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static size_t put_ms(char *out, int is_negative, uint64_t ns)
{
    char *end = out;
    if (is_negative)
        *end++ = '-';
    end = kymo_decimal_ms(end, ns);
    memcpy(end, "ms", 2);
    return (size_t)(end + 2 - out);
}

static size_t put_hex(char *out, int is_negative, uint64_t value)
{
    return (size_t)snprintf(out, KYMO_VALUE_TEXT_MAX, "%s0x%" PRIx64, is_negative ? "-" : "",
                            value);
}

static size_t put_f64(char *out, double value)
{
    if (isfinite(value))
        return (size_t)(kymo_decimal_f64(out, value) - out);
    const char *word = isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
    size_t len = strlen(word);
    memcpy(out, word, len);
    return len;
}

const char *kymo_value_text(const kymo_profile *profile, const kymo_value *value, uint32_t format,
                            char buffer[KYMO_VALUE_TEXT_MAX], size_t *len)
{
    int is_hex = format == KYMO_FORMAT_HEXADECIMAL;
    switch (value->kind) {
    case KYMO_VALUE_STRING:
        *len = kymo_profile_string_len(profile, value->as.string);
        return kymo_profile_string(profile, value->as.string);
    case KYMO_VALUE_BOOL:
        *len = value->as.u64 ? 4 : 5;
        return value->as.u64 ? "true" : "false";
    case KYMO_VALUE_U64:
        *len = is_hex ? put_hex(buffer, 0, value->as.u64)
                      : (size_t)(kymo_decimal_u64(buffer, value->as.u64) - buffer);
        return buffer;
    case KYMO_VALUE_I64:
        *len = is_hex ? put_hex(buffer, value->as.i64 < 0, magnitude(value->as.i64))
                      : (size_t)(kymo_decimal_i64(buffer, value->as.i64) - buffer);
        return buffer;
    case KYMO_VALUE_F64:
        *len = put_f64(buffer, value->as.f64);
        return buffer;
    case KYMO_VALUE_TIME:
        *len = put_ms(buffer, 0, kymo_since_origin(profile, value->as.u64));
        return buffer;
    case KYMO_VALUE_NS:
        *len = put_ms(buffer, value->as.i64 < 0, magnitude(value->as.i64));
        return buffer;
    case KYMO_VALUE_POINTER:
        *len = put_hex(buffer, 0, value->as.u64);
        return buffer;
    case KYMO_VALUE_FLOW:
        *len = (size_t)snprintf(buffer, KYMO_VALUE_TEXT_MAX, "%016" PRIx64, value->as.u64);
        return buffer;
    default:
        *len = 0;
        return "";
    }
}
