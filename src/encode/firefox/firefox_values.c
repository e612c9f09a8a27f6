/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_values.c - one value of a marker, as a number.
 *
 * Durations and times are stored in milliseconds, except for the formats "microseconds" and
 * "nanoseconds". A number without a unit is in the unit of its format; for "duration" and "time"
 * that is milliseconds. Numbers that JavaScript would round are written as text: it has integers up
 * to 2^53, which is 104 days in nanoseconds.
 */
#include <math.h>
#include <string.h>

#include "encode/encoder.h"
#include "encode/firefox/firefox_marks.h"
#include "encode/value_text.h"

static int is_for_numbers(uint32_t format)
{
    return (format >= KYMO_FORMAT_DURATION && format <= KYMO_FORMAT_HEXADECIMAL) ||
           format == KYMO_FORMAT_TID;
}

/* Decimal digits of nanoseconds in the unit that the format is stored in. */
static uint32_t digits_of(uint32_t format)
{
    switch (format) {
    case KYMO_FORMAT_DURATION:
    case KYMO_FORMAT_TIME:
    case KYMO_FORMAT_SECONDS:
    case KYMO_FORMAT_MILLISECONDS:
        return 6;
    case KYMO_FORMAT_MICROSECONDS:
        return 3;
    default:
        return 0;
    }
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

int kymo_firefox_number_of(const kymo_profile *profile, const kymo_value *value, uint32_t format,
                           kymo_firefox_numeric *out)
{
    uint64_t factor = format == KYMO_FORMAT_SECONDS ? 1000 : 1;
    *out = (kymo_firefox_numeric){0};
    if (!is_for_numbers(format))
        return 0;
    switch (value->kind) {
    case KYMO_VALUE_BOOL:
    case KYMO_VALUE_U64:
        out->value = value->as.u64;
        break;
    case KYMO_VALUE_I64:
        out->is_negative = value->as.i64 < 0;
        out->value = magnitude(value->as.i64);
        break;
    case KYMO_VALUE_F64:
        out->is_float = 1;
        out->f64 = value->as.f64 * (double)factor;
        return isfinite(out->f64);
    case KYMO_VALUE_TIME:
        out->value = kymo_since_origin(profile, value->as.u64);
        out->digits = digits_of(format);
        return out->value <= KYMO_FIREFOX_EXACT_MAX;
    case KYMO_VALUE_NS:
        out->is_negative = value->as.i64 < 0;
        out->value = magnitude(value->as.i64);
        out->digits = digits_of(format);
        return out->value <= KYMO_FIREFOX_EXACT_MAX;
    default:
        return 0;
    }
    if (out->value > KYMO_FIREFOX_EXACT_MAX / factor)
        return 0;
    out->value *= factor;
    return 1;
}

void kymo_firefox_put_number(kymo_json *json, const kymo_firefox_numeric *number)
{
    if (number->is_float)
        kymo_json_f64(json, number->f64);
    else
        kymo_json_signed_fixed(json, number->is_negative, number->value, number->digits);
}

static const char *const format_names[KYMO_FORMAT_COUNT] = {[KYMO_FORMAT_NONE] = "string",
#define X(name, text) [KYMO_FORMAT_##name] = text,
                                                            KYMO_MARK_FORMATS(X)
#undef X
};

const char *kymo_firefox_format_name(uint32_t format)
{
    return format_names[format];
}

static uint32_t format_named(const char *name, size_t len)
{
    for (uint32_t i = 1; i < KYMO_FORMAT_COUNT; i++)
        if (strlen(format_names[i]) == len && memcmp(format_names[i], name, len) == 0)
            return i;
    return KYMO_FORMAT_NONE;
}

int kymo_firefox_next_column(const char **columns, kymo_firefox_column *out)
{
    const char *at = *columns;
    if (*at == '\0')
        return 0;
    size_t len = strcspn(at, "|");
    const char *colon = memrchr(at, ':', len);
    *columns = at + len + (at[len] == '|');
    *out = (kymo_firefox_column){at, len, KYMO_FORMAT_STRING};
    if (!colon)
        return 1;
    uint32_t format = format_named(colon + 1, (size_t)(at + len - colon - 1));
    if (format == KYMO_FORMAT_NONE)
        return 1;
    out->len = (size_t)(colon - at);
    /* References and values with parts cannot be in a cell. */
    if (format < KYMO_FORMAT_UNIQUE_STRING || is_for_numbers(format) || format == KYMO_FORMAT_PID)
        out->format = format;
    return 1;
}

uint32_t kymo_firefox_cells(const kymo_profile *profile, const kymo_value *value,
                            const kymo_value **cells)
{
    if (value->kind != KYMO_VALUE_LIST) {
        *cells = value;
        return 1;
    }
    *cells = kymo_profile_values(profile, value->as.list.first, value->as.list.count);
    return *cells ? value->as.list.count : 0;
}

/* In quotes if it could be read as two values, or as the end of one. */
static void put_word(kymo_json *json, const char *text, size_t len)
{
    static const char special[] = " =\"\\";
    int is_quoted = len == 0;
    for (size_t i = 0; i < len && !is_quoted; i++)
        is_quoted = memchr(special, text[i], sizeof special - 1) != NULL;
    if (!is_quoted) {
        kymo_json_string_part(json, text, len);
        return;
    }
    kymo_json_string_part(json, "\"", 1);
    for (size_t from = 0, end; from < len; from = end) {
        for (end = from + 1; end < len && text[end] != '"' && text[end] != '\\';)
            end++;
        if (text[from] == '"' || text[from] == '\\')
            kymo_json_string_part(json, "\\", 1);
        kymo_json_string_part(json, text + from, end - from);
    }
    kymo_json_string_part(json, "\"", 1);
}

void kymo_firefox_put_labels(kymo_json *json, const kymo_profile *profile, uint32_t labels)
{
    char buffer[KYMO_VALUE_TEXT_MAX];
    uint32_t count;
    const kymo_label *label = kymo_profile_label_set(profile, labels, &count);
    kymo_json_string_begin(json);
    for (uint32_t i = 0; i < count; i++) {
        size_t len;
        const char *text =
            kymo_value_text(profile, &label[i].value, KYMO_FORMAT_STRING, buffer, &len);
        if (i > 0)
            kymo_json_string_part(json, " ", 1);
        put_word(json, kymo_profile_string(profile, label[i].key),
                 kymo_profile_string_len(profile, label[i].key));
        kymo_json_string_part(json, "=", 1);
        put_word(json, text, len);
    }
    kymo_json_string_end(json);
}
