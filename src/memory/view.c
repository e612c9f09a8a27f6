/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - reads a snapshot of a process: this one, or another as far as that may be read.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "kymo/memory.h"
#include "memory/write.h"
#include "sys/clock.h"
#include "sys/proc_file.h"

static kymo_err read_cgroup(struct kymo_memory_view *v, const char *process, uint32_t parts)
{
    /* Read anew each time: what is mounted may change. */
    struct kymo_cgroup_mounts *mounts = malloc(sizeof *mounts);
    if (!mounts)
        return KYMO_E_NOMEM;
    kymo_cgroup_read_mounts(mounts, "");
    kymo_cgroup_look(&v->cgroup, mounts, "", process);
    if (parts & KYMO_MEMORY_CGROUP) {
        kymo_cgroup_read_use(&v->figures, &v->cgroup, "");
        kymo_cgroup_read_limits(&v->figures, &v->cgroup, "");
    }
    if (parts & KYMO_MEMORY_PRESSURE)
        kymo_cgroup_read_pressure(&v->figures, &v->cgroup, "");
    free(mounts);
    return KYMO_OK;
}

kymo_err kymo_memory_view_read(struct kymo_memory_view *v, const char *process, uint32_t parts)
{
    char name[64];
    v->realtime_ms = kymo_clock_ns(CLOCK_REALTIME) / 1000000;
    size_t len = kymo_proc_file_read(name, sizeof name, "/proc/%s/comm", process);
    while (len > 0 && name[len - 1] == '\n')
        name[--len] = '\0';
    kymo_utf8_copy(v->name, sizeof v->name, name, strlen(name));
    if (parts & KYMO_MEMORY_PROCESS) {
        kymo_memory_read_use(&v->figures, "", process);
        kymo_memory_read_limits(&v->figures, "", process);
    }
    if (parts & KYMO_MEMORY_MAPS)
        kymo_memory_read_maps(&v->figures, "", process);
    if (parts & (KYMO_MEMORY_CGROUP | KYMO_MEMORY_PRESSURE))
        KYMO_TRY(read_cgroup(v, process, parts));
    if (parts & KYMO_MEMORY_PRESSURE)
        kymo_memory_read_pressure(&v->figures, "");
    return parts & KYMO_MEMORY_THREADS ? kymo_memory_read_threads(&v->threads, "", process)
                                       : KYMO_OK;
}
