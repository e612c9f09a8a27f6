/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.h - reads the kernel's files about memory, each given as its text.
 *
 * Layer:    memory
 * Flow:     process.c, cgroup.c -> [parse] -> figures
 * Threads:  any
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * A line that is not understood is left out, as is a number that is "max" or none; numbers above
 * what an int64_t holds are the largest one. Nothing fails.
 */
#ifndef KYMO_MEMORY_PARSE_H
#define KYMO_MEMORY_PARSE_H

#include "memory/figures.h"

/* A number and what stands behind it: NULL if text begins with none. */
const char *kymo_memory_parse_number(const char *text, int64_t *value);

/* Lines "Key:   123 kB" or "Key: 123" of status, io, smaps_rollup. Those of a figure that is in
 * bytes are in kB where they say so. */
void kymo_memory_parse_lines(struct kymo_figures *f, enum kymo_figure_group group,
                             const char *text);
/* Lines "key 123" of a cgroup's memory.stat and memory.events. */
void kymo_memory_parse_words(struct kymo_figures *f, enum kymo_figure_group group, int is_v1,
                             const char *text);
/* The one number of a cgroup's file. A limit that stands for none is not there. */
void kymo_memory_parse_file(struct kymo_figures *f, enum kymo_figure figure, const char *text);
/* /proc/PID/stat: faults, CPU time and, if uptime_ns is not 0, when it began: of the clocks then.
 * The name may have blanks and parentheses in it. */
void kymo_memory_parse_stat(struct kymo_figures *f, const char *text, int64_t ticks_per_second,
                            int64_t boot_realtime_ns);
/* /proc/PID/limits */
void kymo_memory_parse_limits(struct kymo_figures *f, const char *text);
/* A pressure file of a resource: 0 memory, 1 cpu, 2 io; group: PRESSURE or CGROUP_PRESSURE. */
void kymo_memory_parse_pressure(struct kymo_figures *f, enum kymo_figure_group group,
                                unsigned resource, const char *text);

#endif
