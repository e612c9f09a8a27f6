/* SPDX-License-Identifier: Apache-2.0 */
#include "views/runtimes.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"

#define JVM_FLAGS                                                            \
    "the JVM with -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions " \
    "-XX:+DumpPerfMapAtExit"

static const kymo_runtime runtimes[] = {
    {"python", "Python", 0, "python3 -m cProfile"},
    {"libpython", "Python", 0, "python3 -m cProfile"},
    {"perl", "Perl", 0, "perl -d:NYTProf"},
    {"libperl", "Perl", 0, "perl -d:NYTProf"},
    {"ruby", "Ruby", 0, "the gem stackprof"},
    {"libruby", "Ruby", 0, "the gem stackprof"},
    {"lua", "Lua", 0, NULL},
    {"liblua", "Lua", 0, NULL},
    {"bash", "bash", 0, NULL},
    {"java", "Java", 1, JVM_FLAGS},
    {"libjvm", "Java", 1, JVM_FLAGS},
    {"node", "JavaScript", 1, "node with --perf-basic-prof"},
    {"nodejs", "JavaScript", 1, "node with --perf-basic-prof"},
    {"libnode", "JavaScript", 1, "node with --perf-basic-prof"},
    {"php", "PHP", 1, "php with -d opcache.jit_debug=16"},
    {"libphp", "PHP", 1, "php with -d opcache.jit_debug=16"},
};

const kymo_runtime *kymo_runtime_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(runtimes); i++) {
        size_t len = strlen(runtimes[i].file);
        if (strncmp(name, runtimes[i].file, len) == 0 && !isalpha((unsigned char)name[len]))
            return &runtimes[i];
    }
    return NULL;
}
