/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_work.c - a plugin of dlopenloop.c, built twice: as plugin_red.so with a function
 * plugin_red, and as plugin_blue.so. Loaded in turn they often get the same addresses, which must
 * not mix up their names.
 */
#include "workload.h"

DEFINE_BURN(PLUGIN_FUNCTION, PLUGIN_SALT)

/* Burns that much CPU time of the thread and returns how much it was. */
uint64_t plugin_work(uint64_t ns);

__attribute__((visibility("default"))) uint64_t plugin_work(uint64_t ns)
{
    return burn_ns(PLUGIN_FUNCTION, ns);
}
