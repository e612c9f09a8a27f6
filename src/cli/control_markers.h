/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_markers.h - which categories of markers the recorded programs have.
 *
 * Layer:    cli
 * Flow:     cmd_control.c -> [control_markers] -> control/control.h
 * Threads:  the main one
 * Memory:   none is kept
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_CONTROL_MARKERS_H
#define KYMO_CLI_CONTROL_MARKERS_H

#include <sys/types.h>

#include "base/error.h"

/* Prints them, one a line: of the process, or with the recorder's process id or 0 of all. */
KYMO_NODISCARD
kymo_err kymo_print_categories(pid_t pid, kymo_error *detail);
/* Whether each name in a list of words is a category that a recorded program has; if not, that is
 * printed. pid: of the recorder or of a process that it records. */
KYMO_NODISCARD
kymo_err kymo_check_categories(pid_t pid, const char *list, int *are_known, kymo_error *detail);

#endif
