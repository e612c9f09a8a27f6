/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_file.h - what a program wrote of the code that it made: perf maps and jitdumps.
 *
 * Layer:    symbolize (cold half); above base
 * Flow:     /tmp/perf-PID.map, jit-PID.dump -> [perf_map.c, jitdump.c] -> symbolize/jit_code.c
 * Threads:  one owner at a time
 * Memory:   entries are the caller's; names stay in the file until they are asked for
 * Signals:  not for handlers
 *
 * The files may be hostile, cut, and may grow or shrink while they are read: what is there at first
 * sight is read once, in pieces, and any bytes give entries or none.
 */
#ifndef KYMO_SYMBOLIZE_CODE_FILE_H
#define KYMO_SYMBOLIZE_CODE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "recording/events.h"

#define KYMO_CODE_NAME_MAX 4096u         /* bytes of a name; the rest is left out */
#define KYMO_CODE_ENTRIES_MAX (1u << 20) /* of one file; reading ends there */
#define KYMO_PERF_MAP_BYTES_MAX (256u << 20)
#define KYMO_JITDUMP_RECORDS_MAX (1u << 23)

typedef struct kymo_code_entry {
    uint64_t start; /* runtime addresses [start, start + size_bytes), not empty */
    uint64_t size_bytes;
    uint64_t from;        /* of the file's clock; 0: not known */
    uint64_t to;          /* 0: never */
    uint64_t index;       /* of a jitdump: its number for the code */
    uint64_t name_at;     /* where in the file */
    uint64_t lines_at;    /* where in the file its lines are; 0: it has none */
    uint64_t lines_start; /* the address that they were written for */
    uint32_t name_len;
    uint32_t lines_bytes;
} kymo_code_entry;

typedef KYMO_VEC(kymo_code_entry) kymo_code_entries;

/* Whether the caller wants to know of code at these addresses. */
typedef bool (*kymo_code_wanted)(void *user, uint64_t start, uint64_t size_bytes);

/* Appends what a perf map says of code that is wanted, in the order of the file. A line that does
 * not end is not there yet. *cut: a limit ended it. KYMO_E_NOMEM, KYMO_E_IO. */
KYMO_NODISCARD
kymo_err kymo_perf_map_read(int fd, kymo_code_wanted wanted, void *user, kymo_code_entries *out,
                            bool *cut);

typedef struct kymo_jitdump {
    bool counts_ticks;  /* times are the processor's counter, else CLOCK_MONOTONIC in ns */
    bool cut;           /* a limit ended it */
    bool is_v8;         /* the names of its files are not to be trusted */
    uint32_t line_bias; /* what its addresses of lines are too high by */
} kymo_jitdump;

/* Appends all code of a jitdump, whole records only. KYMO_E_CORRUPT: it is none,
 * KYMO_E_UNSUPPORTED: of the other byte order; KYMO_E_NOMEM, KYMO_E_IO. */
KYMO_NODISCARD
kymo_err kymo_jitdump_read(int fd, kymo_jitdump *info, kymo_code_entries *out);

/* The lines of an entry of a jitdump. The first use wants zero bytes; each call replaces what the
 * one before found. */
typedef struct kymo_code_lines {
    KYMO_VEC(kymo_event_code_line) lines;
    KYMO_VEC(const char *) files; /* in `bytes` */
    KYMO_VEC(unsigned char) bytes;
} kymo_code_lines;

void kymo_code_lines_deinit(kymo_code_lines *lines);
/* KYMO_E_NOMEM. Lines that cannot be read are left out. */
KYMO_NODISCARD
kymo_err kymo_jitdump_lines(int fd, const kymo_jitdump *info, const kymo_code_entry *entry,
                            kymo_code_lines *out);

/* The name of an entry, NUL-terminated; "" if it cannot be read any more. */
void kymo_code_entry_name(int fd, const kymo_code_entry *entry, char name[KYMO_CODE_NAME_MAX + 1]);

#endif
