/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the environment in its constructor, which runs before those of preloaded libraries. */
#include <stdlib.h>

__attribute__((visibility("default"))) int environment_setter_ran(void);

static int ran;

__attribute__((constructor)) static void set(void)
{
    ran = setenv("KYMO_TEST_SETTER", "1", 1) == 0;
}

int environment_setter_ran(void)
{
    return ran;
}
