/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file.h - the whole text of a small file, as those of /proc are.
 *
 * Layer:    sys (cold half only)
 * Threads:  any
 * Signals:  not for handlers
 */
#ifndef KYMO_SYS_PROC_FILE_H
#define KYMO_SYS_PROC_FILE_H

#include <stddef.h>

/* Up to cap - 1 bytes of the file that the format names, with a NUL behind them. Returns their
 * number: 0 where there is no such file, too, or it cannot be read. cap is at least 1. */
size_t kymo_proc_file_read(char *out, size_t cap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
