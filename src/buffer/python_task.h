/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_task.h - which of asyncio's tasks a thread runs.
 *
 * Layer:    buffer; above unwind (python_walk.h)
 * Flow:     a thread's Python frames, the interpreter's memory -> [python_task] -> a label:
 *           capture/python_task.c in the program, observe/wall.c from outside
 * Threads:  any
 * Memory:   the caller's
 * Signals:  safe
 */
#ifndef KYMO_BUFFER_PYTHON_TASK_H
#define KYMO_BUFFER_PYTHON_TASK_H

#include <stdint.h>

#include "base/attr.h"
#include "unwind/python_walk.h"

#define KYMO_PYTHON_TASK_KEY "asyncio task" /* of the label */
#define KYMO_PYTHON_TASK_MAX 96u            /* bytes of a task's name */

struct kymo_python_task {
    uint32_t bytes; /* of its name in UTF-8; 0: there is none, or it cannot be read */
    char name[KYMO_PYTHON_TASK_MAX];
};

/* The task whose step the thread runs, of the frames that were walked. */
KYMO_SIGNAL_SAFE void kymo_python_task_find(const struct kymo_python *python,
                                            struct kymo_python_pages *pages,
                                            const struct kymo_python_stack *stack,
                                            struct kymo_python_task *out);
/* The same, of the frame of asyncio's Handle._run; returns the bytes of the name. */
KYMO_SIGNAL_SAFE uint32_t kymo_python_task_of(const struct kymo_python *python,
                                              struct kymo_python_pages *pages, uint64_t frame,
                                              char name[KYMO_PYTHON_TASK_MAX]);
/* Learns from a code object that is seen for the first time: tasks are found by that of
 * Handle._run. */
KYMO_SIGNAL_SAFE void kymo_python_task_learn(struct kymo_python *python, uint64_t code,
                                             const char *name, uint32_t name_len, const char *file,
                                             uint32_t file_len);
/* Whether a code object with these texts is that of Handle._run. */
KYMO_SIGNAL_SAFE int kymo_python_runs_handles(uint32_t minor, const char *name, uint32_t name_len,
                                              const char *file, uint32_t file_len);

#endif
