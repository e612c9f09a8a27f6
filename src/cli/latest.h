/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latest.h - the newest recordings of a folder, for commands that were given no FILE.
 *
 * Layer:    cli; above base
 * Flow:     folder -> [latest] -> cmd_report.c, cmd_convert.c, cmd_diff.c
 * Threads:  the only one
 * Memory:   the caller's structure
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_LATEST_H
#define KYMO_CLI_LATEST_H

#include <limits.h>
#include <stddef.h>
#include <time.h>

struct kymo_latest {
    char name[NAME_MAX + 1];
    struct timespec written;
};

/* The regular files NAME.kymo of the folder by the time they were last written, the newest first,
 * as many as there are up to max; by name in reverse where times are equal. Links
 * (kymo.latest.kymo) and recordings that are still being written are left out. Returns how many it
 * found. */
size_t kymo_latest_find(const char *folder, struct kymo_latest *out, size_t max);

/* For a command that was given no FILE: sets *file to the newest recording of the current folder,
 * and says so on standard error unless quiet is set. Returns -1 to go on, else an exit status. */
int kymo_latest_take(unsigned command, int quiet, struct kymo_latest *storage, const char **file);

#endif
