/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - what this machine is, for the head of a recording.
 *
 * Layer:    launch
 * Threads:  one at a time
 * Memory:   fixed buffers inside the structure
 * Signals:  not for handlers
 */
#ifndef KYMO_LAUNCH_MACHINE_H
#define KYMO_LAUNCH_MACHINE_H

#include <stdint.h>

struct kymo_machine {
    char host[128];
    char os[128];     /* PRETTY_NAME of /etc/os-release */
    char kernel[160]; /* "Linux 6.1.0" */
    char arch[32];
    char cpu_name[128];
    uint32_t logical_cpus;
    uint32_t physical_cpus; /* cores; 0: not known */
    uint64_t memory_bytes;
    int tsc; /* the kernel's clocksource is the time-stamp counter */
};

/* Reads it; what cannot be read stays empty or 0. */
void kymo_machine_read(struct kymo_machine *machine);

#endif
