/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - the unit tests of one stage in one program: `unit_STAGE NAME` runs
 * tests/unit/test_NAME.c.
 *
 * One file for each process, as with a program for each file: what a test leaves behind reaches no
 * other. KYMO_UNITS is the list, from tests/CMakeLists.txt.
 */
#include <stdio.h>
#include <string.h>

#define KYMO_UNIT(name) int kymo_test_##name(void);
KYMO_UNITS
#undef KYMO_UNIT

static const struct {
    const char *name;
    int (*run)(void);
} units[] = {
#define KYMO_UNIT(name) {#name, kymo_test_##name},
    KYMO_UNITS
#undef KYMO_UNIT
};

int main(int argc, char **argv)
{
    const size_t count = sizeof units / sizeof units[0];
    for (size_t i = 0; argc == 2 && i < count; i++) {
        if (strcmp(argv[1], units[i].name) == 0)
            return units[i].run();
    }
    fprintf(stderr, "usage: %s NAME, which is one of:", argv[0]);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s", units[i].name);
    fprintf(stderr, "\n");
    return 2;
}
