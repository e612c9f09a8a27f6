/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_file.h - recognises files of other formats that were given in place of a recording.
 *
 * Layer:    cli; above base
 * Threads:  any
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_FOREIGN_FILE_H
#define KYMO_CLI_FOREIGN_FILE_H

#include <stddef.h>
#include <stdio.h>

/* What a file is that begins with these bytes, and what to do with it: "a Firefox profile; open it
 * at https://profiler.firefox.com". Static text; NULL where it is not known. Compressed data is
 * looked into. */
const char *kymo_foreign_name(const void *head, size_t len);

/* One line on standard error for a file that is no recording: which format it is, what to do, and
 * what the command reads instead. The file is fd, or if that is -1 the one of this path. Returns 0
 * and says nothing for one that is not known, and for a pipe, which can be read once only. */
int kymo_foreign_say(int fd, const char *path);

#endif
