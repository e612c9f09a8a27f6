/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replaced.c - the library that replace.c replaces: built twice, with the same code under another
 * name, so that a name taken from the wrong file would look right.
 */
#include "../workloads/workload.h"

DEFINE_BURN(REPLACED_FUNCTION, 97)

void work(uint64_t ns);

__attribute__((visibility("default"))) void work(uint64_t ns)
{
    burn_ns(REPLACED_FUNCTION, ns);
}
