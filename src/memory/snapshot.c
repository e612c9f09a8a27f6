/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - kymo_memory_snapshot: what this process's memory is now, as text.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "kymo/memory.h"
#include "memory/process.h"
#include "memory/write.h"
#include "sys/clock.h"
#include "sys/proc_file.h"

static kymo_err read_cgroup(struct kymo_memory_view *v, uint32_t parts)
{
    /* Read anew each time: what is mounted may change. */
    struct kymo_cgroup_mounts *mounts = malloc(sizeof *mounts);
    if (!mounts)
        return KYMO_E_NOMEM;
    kymo_cgroup_read_mounts(mounts, "");
    kymo_cgroup_look(&v->cgroup, mounts, "", "self");
    if (parts & KYMO_MEMORY_CGROUP)
        kymo_cgroup_read(&v->figures, &v->cgroup, "");
    if (parts & KYMO_MEMORY_PRESSURE)
        kymo_cgroup_read_pressure(&v->figures, &v->cgroup, "");
    free(mounts);
    return KYMO_OK;
}

static kymo_err read_view(struct kymo_memory_view *v, uint32_t parts)
{
    char name[64];
    v->realtime_ms = kymo_clock_ns(CLOCK_REALTIME) / 1000000;
    v->pid = (uint32_t)getpid();
    size_t len = kymo_proc_file_read(name, sizeof name, "/proc/self/comm");
    while (len > 0 && name[len - 1] == '\n')
        name[--len] = '\0';
    kymo_utf8_copy(v->name, sizeof v->name, name, strlen(name));
    if (parts & KYMO_MEMORY_PROCESS)
        kymo_memory_read_process(&v->figures, "", "self");
    if (parts & KYMO_MEMORY_MAPS)
        kymo_memory_read_maps(&v->figures, "", "self");
    if (parts & (KYMO_MEMORY_CGROUP | KYMO_MEMORY_PRESSURE))
        KYMO_TRY(read_cgroup(v, parts));
    if (parts & KYMO_MEMORY_PRESSURE)
        kymo_memory_read_pressure(&v->figures, "");
    if (parts & KYMO_MEMORY_ALLOCATOR)
        kymo_memory_read_allocators(&v->figures);
    if (parts & KYMO_MEMORY_THREADS)
        KYMO_TRY(kymo_memory_read_threads(&v->threads, "", "self"));
    return KYMO_OK;
}

kymo_err kymo_memory_snapshot(kymo_memory_format format, uint32_t parts, kymo_sink *sink)
{
    static void (*const write[])(kymo_str *, const struct kymo_memory_view *) = {
        [KYMO_MEMORY_JSON] = kymo_memory_write_json,
        [KYMO_MEMORY_PROMETHEUS] = kymo_memory_write_prometheus,
    };
    if ((unsigned)format >= sizeof write / sizeof *write || parts & ~(uint32_t)KYMO_MEMORY_ALL ||
        !sink)
        return KYMO_E_INVALID;
    kymo_str text = {0};
    struct kymo_memory_view *v = calloc(1, sizeof *v);
    if (!v)
        return KYMO_E_NOMEM;
    kymo_err err = read_view(v, parts);
    if (err == KYMO_OK) {
        write[format](&text, v);
        err = text.failed ? KYMO_E_NOMEM : KYMO_OK;
    }
    if (err == KYMO_OK && text.len)
        err = kymo_sink_write(sink, text.data, text.len);
    kymo_str_deinit(&text);
    kymo_memory_threads_deinit(&v->threads);
    free(v);
    return err;
}
