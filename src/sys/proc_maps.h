/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_maps.h - a line of /proc/PID/maps, and the first of each area in smaps.
 *
 * Layer:    sys (cold half only)
 * Flow:     lines of maps and smaps -> [proc_maps] -> observe, symbolize, memory
 * Threads:  any
 * Memory:   texts stay in the line
 * Signals:  not for handlers
 *
 * The hot half has own_maps.h, which needs no libc and no room for a whole line.
 */
#ifndef KYMO_SYS_PROC_MAPS_H
#define KYMO_SYS_PROC_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct kymo_proc_mapping {
    uint64_t start, end; /* start < end */
    uint64_t offset;     /* in the file */
    uint64_t device_major, device_minor;
    uint64_t inode; /* 0: no file */
    uint8_t is_readable, is_writable, is_executable, is_shared;
    uint8_t is_deleted; /* the path ends in " (deleted)" */
    char *path;         /* in the line; "": none */
    size_t path_len;    /* without " (deleted)" */
};

/* "7f00-7f10 rw-p 00001000 fd:00 1234    /a path", with or without a newline, which is cut off.
 * Returns 0 if the line is not one of a mapping. */
int kymo_proc_mapping_parse(char *line, struct kymo_proc_mapping *out);

/* Digits of a base up to 16, small letters. Returns what follows them; NULL: there are none, or the
 * number is too large. */
const char *kymo_proc_number(const char *text, unsigned base, uint64_t *value);

#endif
