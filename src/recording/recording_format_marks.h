/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_format_marks.h - the structures of a .kymo file about markers, counters and labels
 * (doc/format-kymo.md, since version 1.2).
 *
 * Layer:    recording
 * Flow:     shared by recording_write_*.c and recording_decode_*.c
 *
 * Definitions (types, sites), which are few, have fixed fields. Markers, counts and labels, of
 * which there are millions, are rows of LEB128 numbers, with times relative to the row before.
 */
#ifndef KYMO_RECORDING_RECORDING_FORMAT_MARKS_H
#define KYMO_RECORDING_RECORDING_FORMAT_MARKS_H

#include <assert.h>
#include <stdint.h>

#define KYMO_FILE_FIELDS_MAX 256u           /* of a type; also the limit of its rows and graphs */
#define KYMO_FILE_PAYLOAD_MAX (64u << 10)   /* bytes, of a marker */
#define KYMO_FILE_MARK_TEXT_MAX (64u << 10) /* bytes, of a text in a row */
#define KYMO_FILE_ROW_NUMBERS_MAX 12u       /* numbers in a row, before its texts */
#define KYMO_FILE_NUMBER_BYTES 10u          /* longest number, as LEB128 */

struct kymo_file_marker_category {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t category;
    uint32_t parent;
    uint32_t color;
    uint32_t flags;
};

struct kymo_file_marker_type {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t type;
    uint32_t show;
    uint32_t is_stack_based;
    uint32_t max_per_second;
    uint32_t payload_bytes;
    uint32_t line;
    uint32_t field_count;
    uint32_t row_count;
    uint32_t graph_count;
    uint16_t field_bytes;
    uint16_t graph_bytes;
};

struct kymo_file_marker_field {
    uint32_t kind;
    uint32_t format;
    uint32_t flags;
};

struct kymo_file_marker_graph {
    uint32_t kind;
    uint32_t color;
};

struct kymo_file_site {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t site;
    uint32_t category;
    uint32_t type;
    uint32_t kind;
    uint32_t line;
    uint32_t reserved;
    uint64_t min_ns;
};

/* Of a literal, or a track. */
struct kymo_file_named {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t id;
    uint32_t reserved;
};

struct kymo_file_counter {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t counter;
    uint32_t category;
    uint32_t kind;
    uint32_t flags;
    uint32_t color;
    uint32_t reserved;
};

struct kymo_file_site_counts {
    uint32_t fixed_bytes;
    uint32_t process;
    uint32_t site;
    uint32_t reserved;
    uint64_t lost;
    uint64_t capped;
    uint64_t cut;
};

/* Head of a chunk of rows, which are grouped like samples. */
struct kymo_file_rows {
    uint16_t head_bytes;
    uint16_t reserved;
    uint32_t groups;
};

/* First number of a marker's row: its phase in the lowest bits, and flags for optional members. */
enum kymo_file_marker_flags {
    KYMO_FILE_MARKER_PHASE = 3,
    KYMO_FILE_MARKER_START = 1 << 2,
    KYMO_FILE_MARKER_PAYLOAD = 1 << 3,
    KYMO_FILE_MARKER_STACK = 1 << 4,
    KYMO_FILE_MARKER_ID = 1 << 5,
    KYMO_FILE_MARKER_CELLS = 1 << 6,
    KYMO_FILE_MARKER_OWNER = 1 << 7,
    KYMO_FILE_MARKER_TRACK = 1 << 8,
    KYMO_FILE_MARKER_NAME = 1 << 9,
    KYMO_FILE_MARKER_OPEN = 1 << 10,
    KYMO_FILE_MARKER_MADE = 1 << 11, /* since 1.3 */
};

/* The same for a label's row: the change, and flags for optional members. */
enum kymo_file_label_flags {
    KYMO_FILE_LABEL_CHANGE = 3,
    KYMO_FILE_LABEL_KEY = 1 << 2,
    KYMO_FILE_LABEL_NUMBER = 1 << 3,
    KYMO_FILE_LABEL_TEXT = 1 << 4,
    KYMO_FILE_LABEL_INHERITED = 1 << 5, /* with change 2; since 1.6 */
};

static_assert(sizeof(struct kymo_file_marker_category) == 24, "layout");
static_assert(sizeof(struct kymo_file_marker_type) == 48, "layout");
static_assert(sizeof(struct kymo_file_marker_field) == 12, "layout");
static_assert(sizeof(struct kymo_file_marker_graph) == 8, "layout");
static_assert(sizeof(struct kymo_file_site) == 40, "layout");
static_assert(sizeof(struct kymo_file_named) == 16, "layout");
static_assert(sizeof(struct kymo_file_counter) == 32, "layout");
static_assert(sizeof(struct kymo_file_site_counts) == 40, "layout");
static_assert(sizeof(struct kymo_file_rows) == 8, "layout");

#endif
