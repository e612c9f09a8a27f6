/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_host.h - loads a plugin, lets it work, unloads it.
 */
#ifndef KYMO_TESTS_PLUGIN_HOST_H
#define KYMO_TESTS_PLUGIN_HOST_H

#include <stdint.h>

typedef uint64_t plugin_function(uint64_t ns);

/* Runs the plugin's plugin_work(ns) and adds what it returns to *cpu_ns. -1 if any step failed. */
int plugin_run(const char *name, uint64_t ns, uint64_t *cpu_ns);

#endif
