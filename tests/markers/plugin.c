/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.c - a shared object with markers, that is loaded and unloaded.
 */
#include "kymo/marker.h"

KYMO_CATEGORY(plugin, "Plugin", RED);

__attribute__((visibility("default"))) int plugin_run(void);
int plugin_run(void)
{
    KYMO_SCOPE(plugin, "run");
    return 42;
}
