/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_environment.c - statically linked, so nothing can be preloaded: exit status 1 if it is asked
 * for all the same.
 */
#include <stdlib.h>

int main(void)
{
    return getenv("LD_PRELOAD") || getenv("KYMO_ATTACH");
}
