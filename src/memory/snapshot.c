/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - kymo_memory_snapshot: what this process's memory is now, as text.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "kymo/memory.h"
#include "memory/process.h"
#include "memory/write.h"

static kymo_err read_view(struct kymo_memory_view *v, uint32_t parts)
{
    v->pid = (uint32_t)getpid();
    if (parts & KYMO_MEMORY_ALLOCATOR)
        kymo_memory_read_allocators(&v->figures);
    return kymo_memory_view_read(v, "self", parts);
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
