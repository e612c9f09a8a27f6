/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file.h - the whole text of a small file, as those of /proc are, and the fields of stat.
 *
 * Layer:    sys (cold half only)
 * Threads:  any
 * Signals:  not for handlers
 */
#ifndef KYMO_SYS_PROC_FILE_H
#define KYMO_SYS_PROC_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Up to cap - 1 bytes of the file that the format names, with a NUL behind them. Returns their
 * number: 0 where there is no such file, too, or it cannot be read. cap is at least 1. */
size_t kymo_proc_file_read(char *out, size_t cap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A field of /proc/PID/stat by its number in proc(5), from 4 on; 0 if it is not there, or is no
 * number from 0 on. */
int kymo_proc_stat_field(const char *text, unsigned number, uint64_t *value);
/* The same of a process; 0 if it cannot be read, too. */
uint64_t kymo_proc_stat(pid_t pid, unsigned number);

#endif
