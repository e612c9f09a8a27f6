/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user.c - a program with markers that knows no library: it says how many arguments were evaluated.
 *
 * user [PLUGIN...]: loads and unloads each, ten times; see plugin.c. Alone, it runs as if markers
 * were not there; that it is linked to a library, or has one preloaded, changes nothing that it
 * says but the number. It is linked with other.c, as its second file with markers.
 */
#include "kymo/marker.h"

#include <stdio.h>
#ifndef USER_IS_STATIC
#include <dlfcn.h>
#endif

KYMO_CATEGORY(work, "Work", GREEN);
KYMO_COUNTER(done, work, "Done", TOTAL, NULL, GREEN);
#define RESULT(F) F(i32, value, "Value", INTEGER, 0) F(str, text, "Text", STRING, 0)
KYMO_TYPE(result, "Result", RESULT, KYMO_ALL_LABELS(result, "", text));

int other_file(void);

static int evaluated;

static int number(int value)
{
    evaluated++;
    return value;
}

static int work_on(void)
{
    KYMO_SCOPE(work, "all");
    KYMO_LABEL_SCOPE("number", number(1));
    KYMO_MARKER(work, "begin");
    KYMO_MARKER_T(work, "result", result, .value = number(2), .text = "x");
    KYMO_MARKER_FMT(work, "text", "%d", number(3));
    KYMO_SCOPE_T(work, "part", result, part);
    uint64_t id = KYMO_INTERVAL_BEGIN_OPT(work, "job", KYMO_OPTIONS(.owner = (uint64_t)number(4)));
    part.value = 5;
    KYMO_COUNT(done, number(6));
    KYMO_INTERVAL_END_T(work, "job", id, result, .value = number(7));
    return kymo_now() != 0 && kymo_now_to_ns(5) > 0 && kymo_flow(1) != 0;
}

int main(int argc, char **argv)
{
    if (!work_on())
        return 1;
    int other = other_file();
#ifndef USER_IS_STATIC
    for (int round = 0; round < 10; round++) {
        for (int i = 1; i < argc; i++) {
            void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
            int (*run)(void) = NULL;
            if (plugin)
                *(void **)&run = dlsym(plugin, "plugin_run");
            if (!run || run() != 42) {
                fprintf(stderr, "%s\n", dlerror());
                return 1;
            }
            dlclose(plugin);
            if (dlopen(argv[i], RTLD_NOW | RTLD_NOLOAD)) {
                fprintf(stderr, "%s stays\n", argv[i]);
                return 1;
            }
        }
    }
#else
    (void)argc, (void)argv;
#endif
    printf("%d and %d evaluated\n", evaluated, other);
    return 0;
}
