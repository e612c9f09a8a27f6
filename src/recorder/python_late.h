/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_late.h - finds an interpreter that a program loads after its start.
 *
 * Layer:    recorder; above symbolize (the file's symbols), unwind (what is wanted of them)
 * Flow:     a module of a stack -> [python_late] -> the session, from which the program takes it
 * Threads:  the recorder's one thread
 * Memory:   nothing is kept
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_PYTHON_LATE_H
#define KYMO_RECORDER_PYTHON_LATE_H

#include <sys/types.h>

#include "buffer/session.h"

/* Looks at a module of a process in which no interpreter was found. If it is CPython, of a version
 * whose frames can be read, the session says so; returns whether it does from now on. */
int kymo_python_late(struct kymo_session *session, pid_t pid,
                     const struct kymo_module_entry *module, const char *path);

#endif
