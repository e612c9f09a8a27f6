/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_file.h - reads the files in which a program names its generated code: perf maps and
 * jitdumps.
 *
 * Layer:    symbolize (cold half); above base
 * Flow:     /tmp/perf-PID.map, jit-PID.dump -> [perf_map.c, jitdump.c] -> symbolize/jit_code.c
 * Threads:  one owner at a time
 * Memory:   the caller owns entries; names are read from the file on request
 * Signals:  not for handlers
 *
 * The files may be hostile or cut, and may change while they are read. What exists at the beginning
 * is read once, in pieces; any input gives entries or none.
 */
#ifndef KYMO_SYMBOLIZE_CODE_FILE_H
#define KYMO_SYMBOLIZE_CODE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "recording/events.h"

#define KYMO_CODE_ENTRY_NAME_MAX 4096u   /* bytes of a name; the rest is dropped */
#define KYMO_CODE_ENTRIES_MAX (1u << 20) /* of one file; further ones are not read */
#define KYMO_PERF_MAP_BYTES_MAX (256u << 20)
#define KYMO_JITDUMP_RECORDS_MAX (1u << 23)

typedef struct kymo_code_entry {
    uint64_t start; /* runtime addresses [start, start + size_bytes), not empty */
    uint64_t size_bytes;
    uint64_t from;        /* on the file's clock; 0: not known */
    uint64_t to;          /* 0: never */
    uint64_t index;       /* for a jitdump: its number of the code */
    uint64_t name_at;     /* offset in the file */
    uint64_t lines_at;    /* offset of its lines in the file; 0: none */
    uint64_t lines_start; /* the address that the lines refer to */
    uint32_t name_len;
    uint32_t lines_bytes;
} kymo_code_entry;

typedef KYMO_VEC(kymo_code_entry) kymo_code_entries;

/* Whether the caller wants code at these addresses. */
typedef bool (*kymo_code_wanted)(void *user, uint64_t start, uint64_t size_bytes);

/* Appends the wanted code of a perf map, in the order of the file. Ignores an incomplete last
 * line. *cut: a limit ended it. KYMO_E_NOMEM, KYMO_E_IO. */
KYMO_NODISCARD
kymo_err kymo_perf_map_read(int fd, kymo_code_wanted wanted, void *user, kymo_code_entries *out,
                            bool *cut);

typedef struct kymo_jitdump {
    bool counts_ticks;  /* times are of the processor's counter, else CLOCK_MONOTONIC in ns */
    bool cut;           /* a limit ended it */
    bool is_v8;         /* its file names cannot be trusted */
    uint32_t line_bias; /* by how much the addresses of its lines are too high */
} kymo_jitdump;

/* Appends all code of a jitdump; ignores incomplete records. KYMO_E_CORRUPT: not a jitdump,
 * KYMO_E_UNSUPPORTED: of the other byte order; KYMO_E_NOMEM, KYMO_E_IO. */
KYMO_NODISCARD
kymo_err kymo_jitdump_read(int fd, kymo_jitdump *info, kymo_code_entries *out);

/* The lines of an entry of a jitdump. All zero at first; each call replaces the lines of the
 * call before. */
typedef struct kymo_code_lines {
    KYMO_VEC(kymo_event_code_line) lines;
    KYMO_VEC(const char *) files; /* in `bytes` */
    KYMO_VEC(unsigned char) bytes;
} kymo_code_lines;

void kymo_code_lines_deinit(kymo_code_lines *lines);
/* KYMO_E_NOMEM. Skips lines that cannot be read. */
KYMO_NODISCARD
kymo_err kymo_jitdump_lines(int fd, const kymo_jitdump *info, const kymo_code_entry *entry,
                            kymo_code_lines *out);

/* The name of an entry, NUL-terminated; "" if it can no longer be read. */
void kymo_code_entry_name(int fd, const kymo_code_entry *entry,
                          char name[KYMO_CODE_ENTRY_NAME_MAX + 1]);

#endif
