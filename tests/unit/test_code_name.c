/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/code_name.h"

/* "function|file|line" of a name. */
static void check(const char *name, const char *expected)
{
    char text[256];
    kymo_code_name n = kymo_code_name_split(name);
    snprintf(text, sizeof text, "%.*s|%.*s|%u", (int)n.function_len, n.function, (int)n.file_len,
             n.file ? n.file : "", n.line);
    assert_string_equal(text, expected);
}

static void names_of_v8(void **state)
{
    (void)state;
    check("JS:*heavy /srv/app.js:10:3", "heavy|/srv/app.js|10");
    check("JS:~heavy /srv/app.js:10:3", "heavy|/srv/app.js|10");
    check("LazyCompile:~heavy /srv/app.js:10", "heavy|/srv/app.js|10");
    check("Function:^heavy file:///srv/app.mjs:1:2", "heavy|file:///srv/app.mjs|1");
    check("JS:+emit node:events:466:44", "emit|node:events|466");
    check("JS:*get size /srv/my app.js:7:1", "get size|/srv/my app.js|7");
    check("JS:*get size app.js:7:1", "get size|app.js|7");
    check("JS:* /srv/app.js:12:9", "(anonymous)|/srv/app.js|12");
    check("Script:~ /srv/app.js:1:1", "(top level)|/srv/app.js|1");
    check("Eval:~ /srv/app.js:1:1", "(top level)|/srv/app.js|1");
    check("JS:*wasm-function[3]", "wasm-function[3]||0");
    check("JS:*odd:1:2", "odd:1:2||0");
    check("JS:", "(anonymous)||0");
    check("JS:*f /a.js:99999999999:1", "f|/a.js:99999999999|1");
}

static void other_names(void **state)
{
    (void)state;
    check("py::work:/srv/app.py", "work|/srv/app.py|0");
    check("py::work", "py::work||0");
    check("py:::x", "py:::x||0");
    check("JIT$work", "work||0");
    check("JIT$$trace_exit", "JIT$$trace_exit||0");
    check("JIT$", "JIT$||0");
    check("Builtin:ArrayMap", "Builtin:ArrayMap||0");
    check("Lcom/example/Main;::work", "Lcom/example/Main;::work||0");
    check("", "||0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_v8),
        cmocka_unit_test(other_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
