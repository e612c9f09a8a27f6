/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_untyped.c - schemas for markers without a type: a plain text, and values of expressions.
 */
#include "profile/ingest_state.h"

#include <string.h>

#include "base/str.h"
#include "kymo/marker_abi.h"

/* Values of one marker. The macro takes 13; a broken file may have more. */
#define EXPRESSIONS_MAX 32u

kymo_err kymo_ingest_text_schema(kymo_ingest *in, uint32_t *schema)
{
    kymo_schema_field field = {.format = KYMO_FORMAT_STRING, .flags = KYMO_FIELD_SEARCHABLE};
    kymo_schema s = {.size = sizeof s,
                     .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE,
                     .field_count = 1,
                     .fields = &field};
    if (in->marks.text_schema == KYMO_NONE) {
        KYMO_TRY(kymo_ingest_add_string(in, "text", &field.key));
        KYMO_TRY(kymo_ingest_add_string(in, "Text", &field.label));
        KYMO_TRY(kymo_ingest_add_string(in, "{marker.data.text}", &s.chart));
        s.name = field.label;
        s.table = s.chart;
        KYMO_TRY(kymo_profile_add_schema(in->profile, &s, &in->marks.text_schema));
    }
    *schema = in->marks.text_schema;
    return KYMO_OK;
}

/* Length of the first of a list of expressions: up to a comma outside brackets and quotes. */
static size_t expression_len(const char *text)
{
    int depth = 0;
    char quote = 0;
    size_t i = 0;
    for (; text[i] != '\0'; i++) {
        if (quote) {
            if (text[i] == '\\' && text[i + 1] != '\0')
                i++;
            else if (text[i] == quote)
                quote = 0;
        } else if (text[i] == '"' || text[i] == '\'') {
            quote = text[i];
        } else if (strchr("([{", text[i])) {
            depth++;
        } else if (strchr(")]}", text[i])) {
            depth--;
        } else if (text[i] == ',' && depth <= 0) {
            break;
        }
    }
    return i;
}

/* Letters, digits and underscores of the expression, so that labels can name it. */
static void make_identifier(char out[KYMO_INGEST_KEY_MAX], const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len && n < KYMO_INGEST_KEY_MAX - 1; i++) {
        char c = text[i];
        int is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (is_word || (n > 0 && out[n - 1] != '_'))
            out[n++] = is_word ? c : '_';
    }
    while (n > 0 && out[n - 1] == '_')
        n--;
    out[n] = '\0';
}

static uint16_t format_of_value(uint32_t kind)
{
    switch (kind) {
    case KYMO_VALUE_I64:
    case KYMO_VALUE_U64:
        return KYMO_FORMAT_INTEGER;
    case KYMO_VALUE_F64:
        return KYMO_FORMAT_DECIMAL;
    case KYMO_VALUE_POINTER:
        return KYMO_FORMAT_HEXADECIMAL;
    default:
        return KYMO_FORMAT_STRING;
    }
}

kymo_err kymo_ingest_values_schema(kymo_ingest *in, const struct kymo_ingest_site *site,
                                   const kymo_value *values, uint32_t count, uint32_t *schema)
{
    kymo_schema_field fields[EXPRESSIONS_MAX];
    kymo_schema s = {.size = sizeof s,
                     .name = site->name,
                     .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE,
                     .fields = fields};
    const char *text = site->format ? site->format : "";
    kymo_str label = {0};
    s.field_count = count < EXPRESSIONS_MAX ? count : EXPRESSIONS_MAX;
    for (uint32_t i = 0; i < s.field_count; i++) {
        char key[KYMO_INGEST_KEY_MAX];
        text += strspn(text, ", ");
        size_t len = expression_len(text);
        make_identifier(key, text, len);
        fields[i] = (kymo_schema_field){.format = format_of_value(values[i].kind)};
        kymo_err err = kymo_ingest_make_key(in, key, fields, i, &fields[i].key);
        if (err == KYMO_OK)
            err = kymo_profile_add_string(in->profile, text, len, &fields[i].label);
        if (err != KYMO_OK) {
            kymo_str_deinit(&label);
            return err;
        }
        kymo_str_printf(&label, "%s{marker.data.%s}", i ? ", " : "",
                        kymo_profile_string(in->profile, fields[i].key));
        text += len;
    }
    kymo_err err =
        label.failed ? KYMO_E_NOMEM : kymo_ingest_add_string(in, kymo_str_cstr(&label), &s.chart);
    kymo_str_deinit(&label);
    KYMO_TRY(err);
    s.table = s.chart;
    return kymo_profile_add_schema(in->profile, &s, schema);
}
