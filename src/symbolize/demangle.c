/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c - libiberty's demanglers with a limit on their output.
 *
 * A mangled name of a few hundred bytes can expand to gigabytes (repeated substitutions). libiberty
 * limits recursion but not output. So its callback interface is used, and left by longjmp at the
 * limit. In that mode its memory is on the stack, except for a Punycode identifier being printed,
 * which leaks then: less than the name itself.
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
    /* Rust's legacy names look like C++ names, so Rust's demangler is tried first. */
    out->len = 0;
    if (rust_demangle_callback(name, options, take, &s))
        return true;
    out->len = 0;
    return cplus_demangle_v3_callback(name, options, take, &s) != 0;
}

bool kymo_demangle(const char *name, kymo_str *out)
{
    /* _Z..., _R..., _GLOBAL__I_...: other names are not mangled. */
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R' && name[1] != 'G'))
        return false;
    /* A version or "@plt" is not part of the mangled name. */
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
