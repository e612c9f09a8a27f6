/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - where a process's cgroup is, and what it says of memory and pressure.
 *
 * Layer:    memory
 * Flow:     /proc/PID/cgroup, mountinfo, /sys/fs/cgroup -> [cgroup] -> figures
 * Threads:  any
 * Memory:   the caller's
 * Signals:  not for handlers
 *
 * The memory controller is in one hierarchy: in one of the first version if /proc/PID/cgroup has it
 * there, else in that of the second, whose line is "0::". Where both are mounted (hybrid), pressure
 * is in the second all the same. A process may be moved, so its path is read each time.
 */
#ifndef KYMO_MEMORY_CGROUP_H
#define KYMO_MEMORY_CGROUP_H

#include <limits.h>
#include <stdint.h>

#include "memory/figures.h"

/* A hierarchy's mount: what of it is mounted, and where. Empty: it is not. */
struct kymo_cgroup_mount {
    char root[PATH_MAX];
    char point[PATH_MAX];
};

struct kymo_cgroup_mounts {
    struct kymo_cgroup_mount v1_memory, v2;
};

/* Of /proc/PID/mountinfo's text. */
void kymo_cgroup_parse_mounts(struct kymo_cgroup_mounts *mounts, const char *text);

/* Where a process's cgroup is: folders without a slash at the end, "" if there is none to be read.
 */
struct kymo_cgroup_place {
    int version;           /* of the memory controller; 0: none */
    char path[PATH_MAX];   /* as /proc/PID/cgroup has it */
    char memory[PATH_MAX]; /* its folder */
    size_t memory_root;    /* of that, the bytes of the mount point */
    char unified[PATH_MAX];
};

/* Of /proc/PID/cgroup's text. */
void kymo_cgroup_find(struct kymo_cgroup_place *place, const struct kymo_cgroup_mounts *mounts,
                      const char *text);

/* root: what all paths begin with, "" but in tests. */
void kymo_cgroup_read_mounts(struct kymo_cgroup_mounts *mounts, const char *root);
/* Where the process's cgroup is now; process is a name of /proc: "self", "123". */
void kymo_cgroup_look(struct kymo_cgroup_place *place, const struct kymo_cgroup_mounts *mounts,
                      const char *root, const char *process);
/* What changes all the time: what is in use, its peak, how far the least limit is, stat, events. */
void kymo_cgroup_read_use(struct kymo_figures *f, const struct kymo_cgroup_place *place,
                          const char *root);
/* The rest: the cgroup's own limits, swap, failures. */
void kymo_cgroup_read_limits(struct kymo_figures *f, const struct kymo_cgroup_place *place,
                             const char *root);
/* The least limit of memory from the process's cgroup up to the mount, all of which count, in
 * either version; UINT64_MAX: there is none. */
uint64_t kymo_cgroup_limit(const char *root, const char *process);
void kymo_cgroup_read_pressure(struct kymo_figures *f, const struct kymo_cgroup_place *place,
                               const char *root);

#endif
