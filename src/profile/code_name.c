/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_name.c - see code_name.h.
 *
 * V8 writes TAG:MARKERfunction file:line:column. The marker says which compiler made the code (~
 * the interpreter, ^ + * the others). Code of several compilers for one function is one function
 * here. Functions and files may contain spaces ("get size", "/srv/my app.js"), so where the file
 * begins is a guess: at the first space before a path or a URL scheme, else at the last space.
 */
#include "profile/code_name.h"

#include <string.h>

#include "base/error.h"
#include "base/str.h"

static const struct {
    const char *tag;
    const char *unnamed; /* shown for code without a name */
} v8_tags[] = {
    {"JS:", "(anonymous)"},     {"Function:", "(anonymous)"}, {"LazyCompile:", "(anonymous)"},
    {"Script:", "(top level)"}, {"Eval:", "(top level)"},
};

/* Removes ":DIGITS" from the end of text[0, *len) and gives the number. */
static int take_number(const char *text, size_t *len, uint32_t *number)
{
    size_t at = *len;
    uint64_t value;
    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
        at--;
    if (at == 0 || text[at - 1] != ':' || kymo_parse_u64(text + at, *len - at, &value) != KYMO_OK ||
        value > INT32_MAX)
        return 0;
    *len = at - 1;
    *number = (uint32_t)value;
    return 1;
}

/* Where the file begins in "function file"; len if there is no file. */
static size_t find_file(const char *text, size_t len)
{
    static const char *const starts[] = {"/", "node:", "file:", "http:", "https:", "wasm:"};
    size_t last = len;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != ' ')
            continue;
        last = i + 1;
        for (size_t k = 0; k < KYMO_ARRAY_LEN(starts); k++)
            if (strncmp(text + i + 1, starts[k], strlen(starts[k])) == 0)
                return last;
    }
    return last;
}

static kymo_code_name split_v8(const char *text, const char *unnamed)
{
    kymo_code_name out = {0};
    uint32_t column;
    text += strspn(text, "~^+*");
    size_t len = strlen(text);
    size_t end = len;
    size_t file = len;
    if (take_number(text, &end, &out.line)) {
        /* There are two numbers: the last one is the column. */
        column = out.line;
        if (!take_number(text, &end, &out.line))
            out.line = column;
        file = find_file(text, end);
    }
    if (file < end) {
        out.file = text + file;
        out.file_len = end - file;
        len = file - 1;
    } else {
        out.line = 0;
    }
    out.function = len > 0 ? text : unnamed;
    out.function_len = len > 0 ? len : strlen(unnamed);
    return out;
}

/* "py::FUNCTION:FILE". */
static int split_python(const char *text, kymo_code_name *out)
{
    const char *colon = strchr(text, ':');
    if (!colon || colon == text || colon[1] == '\0')
        return 0;
    *out = (kymo_code_name){text, (size_t)(colon - text), colon + 1, strlen(colon + 1), 0};
    return 1;
}

kymo_code_name kymo_code_name_split(const char *name)
{
    kymo_code_name out = {.function = name, .function_len = strlen(name)};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(v8_tags); i++)
        if (kymo_str_starts(name, v8_tags[i].tag))
            return split_v8(name + strlen(v8_tags[i].tag), v8_tags[i].unnamed);
    /* PHP. Its stubs begin with "JIT$$". */
    if (kymo_str_starts(name, "JIT$") && name[4] != '$' && name[4] != '\0') {
        out.function += 4;
        out.function_len -= 4;
    }
    if (kymo_str_starts(name, "py::"))
        (void)split_python(name + 4, &out);
    return out;
}
