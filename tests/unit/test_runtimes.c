/* SPDX-License-Identifier: Apache-2.0 */
#include "views/runtimes.h"

#include <string.h>

#include "unit.h"

static void expect(const char *path, const char *language)
{
    const kymo_runtime *runtime = kymo_runtime_of(path);
    if (language ? !runtime || strcmp(runtime->language, language) != 0 : runtime != NULL)
        fail_msg("%s: %s", path, runtime ? runtime->language : "none");
}

static void runtimes_are_known_by_their_files(void **state)
{
    (void)state;
    expect("/usr/bin/python3.11", "Python");
    expect("libpython3.11.so.1.0", "Python");
    expect("/usr/lib/jvm/java-17/lib/server/libjvm.so", "Java");
    expect("/usr/bin/java", "Java");
    expect("/usr/bin/node", "JavaScript");
    expect("perl5.36", "Perl");
    expect("/usr/bin/perldoc", NULL);
    expect("/opt/node/bin/tool", NULL);
    expect("", NULL);
    expect("/", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runtimes_are_known_by_their_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
