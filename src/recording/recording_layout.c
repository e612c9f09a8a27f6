/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_layout.c - see recording_layout.h. A member has the same name in the event and in the
 * file. Two kinds of chunks are not here: those with more members in the fixed part than in the
 * event, and those with texts after a list.
 */
#include "recording/recording_layout.h"

#include <assert.h>

#include "recording/events.h"

#define BYTES(structure, member) sizeof(((structure *)0)->member)

#define IS_SAME(a, b) sizeof(char[(a) == (b) ? 1 : -1]) /* an array of size -1 does not compile */
#define M(type, member)                                                                           \
    {                                                                                             \
        offsetof(kymo_event_##type, member), offsetof(struct kymo_file_##type, member),           \
            BYTES(kymo_event_##type, member) *                                                    \
                IS_SAME(BYTES(kymo_event_##type, member), BYTES(struct kymo_file_##type, member)) \
    }
#define T(type, member)                           \
    {                                             \
        offsetof(kymo_event_##type, member), 0, 0 \
    }

#define GROWN(NAME, type, least, ...)                                                          \
    [KYMO_CHUNK_##NAME] = {sizeof(kymo_event_##type), sizeof(struct kymo_file_##type), least,  \
                           KYMO_ARRAY_LEN(((const struct kymo_layout_member[]){__VA_ARGS__})), \
                           (const struct kymo_layout_member[]){__VA_ARGS__}}
#define CHUNK(NAME, type, ...) GROWN(NAME, type, sizeof(struct kymo_file_##type), __VA_ARGS__)

static const struct kymo_layout layouts[] = {
    GROWN(META, meta, KYMO_FILE_META_BYTES, M(meta, argc), M(meta, start_ns),
          M(meta, start_realtime_ns), M(meta, period_ns), M(meta, memory_bytes),
          M(meta, logical_cpus), M(meta, physical_cpus), M(meta, hz), M(meta, wall_period_ns),
          T(meta, host), T(meta, os), T(meta, kernel), T(meta, arch), T(meta, cpu_name),
          T(meta, version), T(meta, engine), T(meta, engine_reason), T(meta, options)),
    CHUNK(LOSS, loss, M(loss, process), M(loss, kind), M(loss, count), T(loss, name)),
    GROWN(QUALITY, quality, KYMO_FILE_QUALITY_BYTES, M(quality, process), M(quality, samples),
          M(quality, handler_ns), M(quality, disturbed), M(quality, cpu_unsampled_ns),
          M(quality, copied)),
    GROWN(DROPPED, dropped, KYMO_FILE_DROPPED_BYTES, M(dropped, thread), M(dropped, ring_bytes),
          M(dropped, samples), M(dropped, weight_ns), M(dropped, unknown), M(dropped, wall_samples),
          M(dropped, wall_ns), M(dropped, markers), M(dropped, counts), M(dropped, calls)),
    CHUNK(NOTE, note, M(note, process), M(note, time_ns), M(note, severity), T(note, text)),
    CHUNK(END, end, M(end, clean), M(end, end_ns)),

    CHUNK(PROCESS, process, M(process, process), M(process, pid), M(process, parent_pid),
          M(process, is_main), M(process, argc), M(process, start_ns), T(process, name),
          T(process, exe)),
    CHUNK(PROCESS_END, process_end, M(process_end, process), M(process_end, wait_status),
          M(process_end, end_ns), M(process_end, user_ns), M(process_end, system_ns)),
    CHUNK(THREAD, thread, M(thread, thread), M(thread, process), M(thread, tid),
          M(thread, start_ns), T(thread, name)),
    CHUNK(THREAD_NAME, thread_name, M(thread_name, thread), M(thread_name, time_ns),
          T(thread_name, name)),
    GROWN(THREAD_END, thread_end, KYMO_FILE_THREAD_END_BYTES, M(thread_end, thread),
          M(thread_end, end_ns), M(thread_end, cpu_ns), M(thread_end, cpu_tail_ns),
          M(thread_end, by_tick)),

    CHUNK(MODULE, module, M(module, module), M(module, process), M(module, is_main),
          M(module, start), M(module, end), M(module, load_bias), M(module, file_offset),
          M(module, load_ns), M(module, build_id_len), T(module, path)),
    CHUNK(MODULE_UNLOAD, module_unload, M(module_unload, module), M(module_unload, process),
          M(module_unload, time_ns)),
    CHUNK(MODULE_IMAGE, module_image, M(module_image, module), M(module_image, process),
          M(module_image, len)),
    CHUNK(SCRIPT, script, M(script, process), M(script, script), M(script, first_line),
          M(script, language), T(script, name), T(script, file)),
    CHUNK(WAIT, wait, M(wait, wait), T(wait, name)),
    CHUNK(KERNEL_SYMBOL, kernel_symbol, M(kernel_symbol, symbol), M(kernel_symbol, address),
          T(kernel_symbol, name), T(kernel_symbol, module)),

    CHUNK(MARKER_CATEGORY, marker_category, M(marker_category, process),
          M(marker_category, category), M(marker_category, parent), M(marker_category, color),
          M(marker_category, flags), T(marker_category, name)),
    CHUNK(SITE, site, M(site, process), M(site, site), M(site, category), M(site, type),
          M(site, kind), M(site, line), M(site, min_ns), T(site, name), T(site, format),
          T(site, file), T(site, function)),
    CHUNK(LITERAL, named, M(named, process), M(named, id), T(named, name)),
    CHUNK(TRACK, named, M(named, process), M(named, id), T(named, name)),
    CHUNK(COUNTER, counter, M(counter, process), M(counter, counter), M(counter, category),
          M(counter, kind), M(counter, flags), M(counter, color), T(counter, name),
          T(counter, unit), T(counter, description)),
    CHUNK(SITE_COUNTS, site_counts, M(site_counts, process), M(site_counts, site),
          M(site_counts, lost), M(site_counts, capped), M(site_counts, cut)),

    CHUNK(HEAP, heap, M(heap, process), M(heap, allocator), M(heap, rate), M(heap, map_least),
          M(heap, count), M(heap, bytes), T(heap, not_seen)),
    CHUNK(LEDGER, ledger, M(ledger, process), M(ledger, line), M(ledger, time_ns), M(ledger, bytes),
          M(ledger, low), M(ledger, high), T(ledger, name)),
    CHUNK(MEMORY_INFO, memory_info, M(memory_info, process), M(memory_info, time_ns),
          M(memory_info, value), T(memory_info, key)),
};

const struct kymo_layout *kymo_layout_of(enum kymo_chunk_type type)
{
    assert(type < KYMO_ARRAY_LEN(layouts) && layouts[type].event_bytes > 0 &&
           layouts[type].file_bytes <= KYMO_LAYOUT_FIXED_MAX);
    return &layouts[type];
}
