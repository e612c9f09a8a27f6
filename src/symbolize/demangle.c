/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c - libiberty's demanglers with a bound on what they may produce.
 *
 * A mangled name of a few hundred bytes can stand for gigabytes of text (substitutions that
 * double). libiberty bounds recursion but not output, so its callback interface is used and left by
 * longjmp at the limit: in that mode its working memory is on the stack (but for a Punycode
 * identifier that is being printed, which is lost then: less than the name itself).
 */
#include "symbolize/symbol_strings.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 65536u

typedef struct sink {
    kymo_str *out;
    jmp_buf enough;
} sink;

static void take(const char *text, size_t len, void *user)
{
    sink *s = user;
    if (len > MAX_NAME - s->out->len)
        longjmp(s->enough, 1);
    kymo_str_append(s->out, text, len);
}

static bool run(const char *name, kymo_str *out)
{
    const int options = DMGL_PARAMS | DMGL_ANSI;
    sink s = {.out = out};
    if (setjmp(s.enough))
        return false;
    /* Rust's legacy names look like C++ ones, so Rust is asked first. */
    out->len = 0;
    if (rust_demangle_callback(name, options, take, &s))
        return true;
    out->len = 0;
    return cplus_demangle_v3_callback(name, options, take, &s) != 0;
}

bool kymo_demangle(const char *name, kymo_str *out)
{
    /* _Z..., _R..., _GLOBAL__I_...: most names need not be tried. */
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R' && name[1] != 'G'))
        return false;
    /* A version or "@plt" is no part of the mangled name. */
    const char *at = strchr(name, '@');
    size_t len = at ? (size_t)(at - name) : strlen(name);
    if (len == 0 || len > MAX_NAME)
        return false;
    bool done;
    if (at) {
        char *copy = strndup(name, len);
        done = copy && run(copy, out);
        free(copy);
        if (done)
            kymo_str_puts(out, at);
    } else {
        done = run(name, out);
    }
    return done && !out->failed && out->len > 0;
}
