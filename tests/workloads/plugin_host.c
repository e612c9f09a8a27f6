/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_host.c - a library that loads plugins, for dlopenloop.c. The folder of the plugins is in
 * this library's RUNPATH alone: the loader finds them only when it sees that the call of dlopen
 * comes from here, which it would not if a library had wrapped it.
 */
#include "plugin_host.h"

#include <dlfcn.h>
#include <stdio.h>

__attribute__((visibility("default"))) int plugin_run(const char *name, uint64_t ns,
                                                      uint64_t *cpu_ns)
{
    void *plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "plugin_host: %s\n", dlerror());
        return -1;
    }
    plugin_function *work = (plugin_function *)dlsym(plugin, "plugin_work");
    if (work)
        *cpu_ns += work(ns);
    int closed = dlclose(plugin);
    return work && closed == 0 ? 0 : -1;
}
