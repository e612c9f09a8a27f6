/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a number of arguments, each with its kind and 8 bytes, and a format. Whatever they
 * are, no more is written than there is room for; with less room, the beginning of the same comes
 * out; and a valid format and valid texts become valid text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "profile/mark_format.h"

#define ARGS_MAX 15u
#define ARG_BYTES 9u
#define ROOM 8192u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int condition)
{
    if (!condition)
        abort();
}

/* Texts are the 8 bytes themselves. Returns how many arguments there are. */
static uint32_t read_args(const uint8_t **data, size_t *len, struct kymo_format_arg *args)
{
    static const kymo_value_kind kinds[] = {KYMO_VALUE_I64,    KYMO_VALUE_U64,     KYMO_VALUE_F64,
                                            KYMO_VALUE_STRING, KYMO_VALUE_POINTER, KYMO_VALUE_NONE,
                                            KYMO_VALUE_BOOL,   KYMO_VALUE_LIST};
    uint32_t want = *len ? **data & ARGS_MAX : 0;
    uint32_t count = 0;
    if (*len) {
        ++*data;
        --*len;
    }
    for (; count < want && *len >= ARG_BYTES; count++, *data += ARG_BYTES, *len -= ARG_BYTES) {
        struct kymo_format_arg arg = {.kind = kinds[**data & 7], .is_cut = **data >> 7};
        memcpy(&arg.as.u64, *data + 1, sizeof arg.as.u64);
        if (arg.kind == KYMO_VALUE_STRING) {
            arg.as.text = (const char *)*data + 1;
            arg.len = **data >> 4 & 7;
        }
        args[count] = arg;
    }
    return count;
}

static int are_valid(const struct kymo_format_arg *args, uint32_t count, const char *format)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct kymo_format_arg *a = &args[i];
        if (a->kind == KYMO_VALUE_STRING && kymo_utf8_valid_prefix(a->as.text, a->len) != a->len)
            return 0;
        if (a->kind != KYMO_VALUE_STRING && a->as.u64 >= 0x80)
            return 0; /* it may be shown as one byte */
    }
    return kymo_utf8_valid_prefix(format, strlen(format)) == strlen(format);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct kymo_format_arg args[ARGS_MAX];
    uint32_t count = read_args(&data, &len, args);
    char *format = malloc(len + 1);
    char *whole = malloc(ROOM);
    size_t cap = len % 64;
    char *part = malloc(cap + 1);
    int is_cut;
    if (format && whole && part) {
        memcpy(format, data, len);
        format[len] = '\0';
        size_t all = kymo_mark_format(whole, ROOM, format, args, count, &is_cut);
        check(all <= ROOM && (is_cut == 0 || is_cut == 1));
        if (are_valid(args, count, format))
            check(kymo_utf8_valid_prefix(whole, all) == all);
        size_t some = kymo_mark_format(part, cap, format, args, count, &is_cut);
        check(some <= cap && some <= all && memcmp(part, whole, some) == 0);
        check(is_cut == (all > cap));
    }
    free(format);
    free(whole);
    free(part);
    return 0;
}
