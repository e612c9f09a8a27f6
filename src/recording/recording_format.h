/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_format.h - the structures of a .kymo file, as doc/format-kymo.md specifies them.
 *
 * Layer:    recording
 * Flow:     shared by recording_write*.c, recording_read.c and recording_decode*.c
 *
 * Structures are copied to and from the file unchanged: Kymo runs on little-endian machines, and
 * the assertions below check the layout against the specification.
 */
#ifndef KYMO_RECORDING_RECORDING_FORMAT_H
#define KYMO_RECORDING_RECORDING_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "buffer/call_units.h"
#include "recording/recording_format_heap.h"
#include "recording/recording_format_marks.h"
#include "recording/recording_format_symbols.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");

#define KYMO_FILE_MAGIC "KYMO"
#define KYMO_FILE_MAJOR 1
#define KYMO_FILE_MINOR 13
#define KYMO_FILE_HEADER_MAX 4096u

#define KYMO_CHUNK_LENGTH_MAX (64u << 20)
#define KYMO_CHUNK_RATIO_MAX 32u
#define KYMO_CHUNK_COMPRESSED 1u
#define KYMO_CHUNK_SKIPPABLE 2u

#define KYMO_FILE_TIME_MAX (1ull << 62)
#define KYMO_FILE_WEIGHT_MAX (1ull << 56)
#define KYMO_FILE_ARGS_MAX 65536u
#define KYMO_FILE_BUILD_ID_MAX 64u
#define KYMO_FILE_KINDS 2u
#define KYMO_FILE_STATES 4u
#define KYMO_FILE_END_REASONS 256u
#define KYMO_FILE_SYMBOLS_STATE_MAX 4u

/* Every chunk: X(NAME, number in the file, decoder), the decoder being kymo_decode_DECODER. */
#define KYMO_CHUNK_LIST(X)                  \
    X(META, 1, meta)                        \
    X(PROCESS, 2, process)                  \
    X(PROCESS_END, 3, process_end)          \
    X(THREAD, 4, thread)                    \
    X(THREAD_NAME, 5, thread_name)          \
    X(THREAD_END, 6, thread_end)            \
    X(MODULE, 7, module)                    \
    X(MODULE_UNLOAD, 8, module_unload)      \
    X(MODULE_IMAGE, 9, module_image)        \
    X(STACKS, 10, stacks)                   \
    X(SAMPLES, 11, samples)                 \
    X(LOSS, 12, loss)                       \
    X(QUALITY, 13, quality)                 \
    X(NOTE, 14, note)                       \
    X(END, 15, end)                         \
    X(WAIT, 16, wait)                       \
    X(SITE, 32, site)                       \
    X(MARKERS, 33, markers)                 \
    X(COUNTS, 34, counts)                   \
    X(MEMORY, 35, memory)                   \
    X(LABELS, 38, labels)                   \
    X(CODE, 39, code)                       \
    X(KERNEL_SYMBOL, 40, kernel_symbol)     \
    X(KERNEL_STACK, 41, kernel_stack)       \
    X(MARKER_TYPE, 42, marker_type)         \
    X(MARKER_CATEGORY, 43, marker_category) \
    X(LITERAL, 44, literal)                 \
    X(COUNTER, 45, counter)                 \
    X(TRACK, 46, track)                     \
    X(SITE_COUNTS, 47, site_counts)         \
    X(HEAP, 48, heap)                       \
    X(LEDGER, 49, ledger)                   \
    X(MEMORY_INFO, 50, memory_info)         \
    X(SYMBOLS, 51, symbols)                 \
    X(DROPPED, 52, dropped)                 \
    X(SCRIPT, 53, script)                   \
    X(OLD_CALLS, 54, old_calls)             \
    X(CALLS, 55, calls)

enum kymo_chunk_type {
#define X(name, number, decoder) KYMO_CHUNK_##name = number,
    KYMO_CHUNK_LIST(X)
#undef X
};

struct kymo_file_header {
    char magic[4];
    uint16_t major;
    uint16_t minor;
    uint32_t header_bytes;
    uint32_t flags;
    uint32_t reserved[3];
    uint32_t crc;
};

struct kymo_chunk_header {
    uint32_t type;
    uint32_t length;
    uint32_t crc;
    uint32_t flags;
};

struct kymo_file_meta {
    uint32_t fixed_bytes;
    uint32_t argc;
    uint64_t start_ns;
    uint64_t start_realtime_ns;
    uint64_t period_ns;
    uint64_t memory_bytes;
    uint32_t logical_cpus;
    uint32_t physical_cpus;
    uint32_t hz;
    uint32_t reserved;
    uint64_t wall_period_ns; /* since 1.1 */
};

struct kymo_file_process {
    uint32_t fixed_bytes;
    uint32_t process;
    int32_t pid;
    int32_t parent_pid;
    uint32_t is_main;
    uint32_t argc;
    uint64_t start_ns;
};

struct kymo_file_process_end {
    uint32_t fixed_bytes;
    uint32_t process;
    int32_t wait_status;
    uint32_t reserved;
    uint64_t end_ns;
    uint64_t user_ns;
    uint64_t system_ns;
};

struct kymo_file_thread {
    uint32_t fixed_bytes;
    uint32_t thread;
    uint32_t process;
    int32_t tid;
    uint64_t start_ns;
};

struct kymo_file_thread_name {
    uint32_t fixed_bytes;
    uint32_t thread;
    uint64_t time_ns;
};

struct kymo_file_thread_end {
    uint32_t fixed_bytes;
    uint32_t thread;
    uint64_t end_ns;
    uint64_t cpu_ns;
    uint64_t cpu_tail_ns;
    uint32_t by_tick; /* since 1.1 */
    uint32_t reserved;
};

struct kymo_file_module {
    uint32_t fixed_bytes;
    uint32_t module;
    uint32_t process;
    uint32_t is_main;
    uint64_t start;
    uint64_t end;
    uint64_t load_bias;
    uint64_t file_offset;
    uint64_t load_ns;
    uint32_t build_id_len;
    uint32_t reserved;
};

struct kymo_file_module_unload {
    uint32_t fixed_bytes;
    uint32_t module;
    uint32_t process;
    uint32_t reserved;
    uint64_t time_ns;
};

struct kymo_file_module_image {
    uint32_t fixed_bytes;
    uint32_t module;
    uint32_t process;
    uint32_t len;
};

struct kymo_file_stacks {
    uint32_t process;
    uint32_t count;
    uint16_t head_bytes;
    uint16_t stack_bytes;
    uint16_t frame_bytes;
    uint16_t reserved;
};

struct kymo_file_stack {
    uint32_t stack;
    uint16_t depth;
    uint16_t shared;
    uint16_t flags;
    uint16_t end;
    uint32_t reserved;
};

struct kymo_file_frame {
    uint64_t address;
    uint32_t module;
    uint32_t flags;
};

struct kymo_file_samples {
    uint16_t head_bytes;
    uint16_t sample_bytes;
    uint32_t groups;
};

struct kymo_file_group {
    uint32_t thread; /* of counts: their process */
    uint32_t count;
};

/* Of traced calls; buffer/call_units.h has the bytes that follow. */
struct kymo_file_call_group {
    uint32_t thread;
    uint32_t bytes;
    uint32_t first_script;
    uint32_t reserved;
    struct kymo_call_span span;
};

struct kymo_file_sample {
    uint64_t time_ns;
    uint64_t weight_ns;
    uint32_t stack;
    uint16_t kind;
    uint16_t state;
    uint32_t wait; /* since 1.1, these two */
    uint32_t reserved;
};

/* Texts: name, file. */
struct kymo_file_script {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t script;
    uint32_t first_line;
    uint32_t language;
    uint32_t reserved;
};

struct kymo_file_wait {
    uint32_t fixed_bytes;
    uint32_t wait;
};

/* Sizes in version 1.0 of structures that have grown since. */
#define KYMO_FILE_META_BYTES offsetof(struct kymo_file_meta, wall_period_ns)
#define KYMO_FILE_SAMPLE_BYTES offsetof(struct kymo_file_sample, wait)
#define KYMO_FILE_QUALITY_BYTES offsetof(struct kymo_file_quality, copied)
#define KYMO_FILE_THREAD_END_BYTES offsetof(struct kymo_file_thread_end, by_tick)

struct kymo_file_loss {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t kind;
    uint32_t reserved;
    uint64_t count;
};

struct kymo_file_quality {
    uint32_t fixed_bytes;
    uint32_t process;
    uint64_t samples;
    uint64_t handler_ns;
    uint64_t disturbed;
    uint64_t cpu_unsampled_ns;
    uint64_t copied;
};

struct kymo_file_dropped {
    uint32_t fixed_bytes;
    uint32_t thread;
    uint64_t ring_bytes;
    uint64_t samples;
    uint64_t weight_ns;
    uint64_t unknown;
    uint64_t wall_samples;
    uint64_t wall_ns;
    uint64_t markers;
    uint64_t counts;
    uint64_t calls; /* since 1.10 */
};
#define KYMO_FILE_DROPPED_BYTES 72u /* before */

struct kymo_file_note {
    uint32_t fixed_bytes;
    uint32_t process;
    uint64_t time_ns;
    uint32_t severity;
    uint32_t reserved;
};

struct kymo_file_code {
    uint32_t fixed_bytes;
    uint32_t process;
    uint64_t start;
    uint64_t size_bytes;
    uint64_t from_ns;
    uint64_t to_ns;
    uint32_t file_count;
    uint32_t line_count;
    uint32_t line_bytes;
    uint32_t reserved;
};

struct kymo_file_code_line {
    uint32_t offset;
    uint32_t line;
    uint32_t column;
    uint32_t file;
};

struct kymo_file_end {
    uint32_t fixed_bytes;
    uint32_t clean;
    uint64_t end_ns;
};

struct kymo_file_kernel_symbol {
    uint32_t fixed_bytes;
    uint32_t symbol;
    uint64_t address;
};

struct kymo_file_kernel_stack {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t stack;
    uint32_t caller;
    uint32_t depth;
    uint32_t frame_bytes;
};

struct kymo_file_kernel_frame {
    uint32_t symbol;
    uint32_t offset;
};

static_assert(sizeof(struct kymo_file_header) == 32, "layout");
static_assert(sizeof(struct kymo_chunk_header) == 16, "layout");
static_assert(sizeof(struct kymo_file_meta) == 64, "layout");
static_assert(sizeof(struct kymo_file_process) == 32, "layout");
static_assert(sizeof(struct kymo_file_process_end) == 40, "layout");
static_assert(sizeof(struct kymo_file_thread) == 24, "layout");
static_assert(sizeof(struct kymo_file_thread_name) == 16, "layout");
static_assert(sizeof(struct kymo_file_thread_end) == 40, "layout");
static_assert(sizeof(struct kymo_file_module) == 64, "layout");
static_assert(sizeof(struct kymo_file_module_unload) == 24, "layout");
static_assert(sizeof(struct kymo_file_module_image) == 16, "layout");
static_assert(sizeof(struct kymo_file_stacks) == 16, "layout");
static_assert(sizeof(struct kymo_file_stack) == 16, "layout");
static_assert(sizeof(struct kymo_file_frame) == 16, "layout");
static_assert(sizeof(struct kymo_file_samples) == 8, "layout");
static_assert(sizeof(struct kymo_file_group) == 8, "layout");
static_assert(sizeof(struct kymo_file_call_group) == 64, "layout");
static_assert(sizeof(struct kymo_file_sample) == 32, "layout");
static_assert(sizeof(struct kymo_file_wait) == 8, "layout");
static_assert(KYMO_FILE_META_BYTES == 56, "layout");
static_assert(KYMO_FILE_SAMPLE_BYTES == 24, "layout");
static_assert(sizeof(struct kymo_file_loss) == 24, "layout");
static_assert(sizeof(struct kymo_file_quality) == 48, "layout");
static_assert(sizeof(struct kymo_file_dropped) == 80, "layout");
static_assert(sizeof(struct kymo_file_note) == 24, "layout");
static_assert(sizeof(struct kymo_file_code) == 56, "layout");
static_assert(sizeof(struct kymo_file_code_line) == 16, "layout");
static_assert(sizeof(struct kymo_file_end) == 16, "layout");
static_assert(sizeof(struct kymo_file_kernel_symbol) == 16, "layout");
static_assert(sizeof(struct kymo_file_kernel_stack) == 24, "layout");
static_assert(sizeof(struct kymo_file_kernel_frame) == 8, "layout");

/* Whether a reader that does not know the chunk can skip it, and its output is still right. */
static inline int kymo_chunk_is_skippable(enum kymo_chunk_type type)
{
    /* Chunks that version 1.0 does not have; but who skips a script takes its frames for a
     * module's.
     */
    return type >= KYMO_CHUNK_WAIT && type != KYMO_CHUNK_SCRIPT;
}

static inline uint32_t kymo_file_header_crc(const struct kymo_file_header *header)
{
    return (uint32_t)crc32(0, (const Bytef *)header, offsetof(struct kymo_file_header, crc));
}

/* payload: header->length bytes. */
static inline uint32_t kymo_chunk_crc(const struct kymo_chunk_header *header, const void *payload)
{
    uint32_t words[3] = {header->type, header->length, header->flags};
    uLong crc = crc32(0, (const Bytef *)words, sizeof words);
    return (uint32_t)crc32(crc, (const Bytef *)payload, header->length);
}

#endif
