/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_events.h - Python's code objects become functions of scripts, its frames get lines.
 *
 * Layer:    recorder
 * Flow:     buffer/drain_codes.c, drain_stacks.c, observe/remote_python.c -> [python_events] ->
 *           recording writer
 * Threads:  the recorder's one thread
 * Memory:   the caller owns the structure, which keeps the line tables; deinit frees them
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_PYTHON_EVENTS_H
#define KYMO_RECORDER_PYTHON_EVENTS_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "buffer/drain.h"
#include "recording/events.h"

/* What is kept of a code object. */
struct kymo_python_code {
    uint32_t minor, first_line, lines_len;
    uint8_t *lines; /* NULL: none */
};

struct kymo_python_events {
    uint32_t first;                          /* script number of the first code */
    KYMO_VEC(struct kymo_python_code) codes; /* by number; the script's is so much behind first */
};

/* Writes the event of a code object. KYMO_E_NOMEM, or the handler's error. */
KYMO_NODISCARD
kymo_err kymo_python_events_code(struct kymo_python_events *python, uint32_t process,
                                 const struct kymo_drain_code *code,
                                 const kymo_event_handler *events, void *context);
/* A Python frame, with its line. */
kymo_event_frame kymo_python_events_frame(const struct kymo_python_events *python,
                                          const struct kymo_drain_frame *frame);
void kymo_python_events_deinit(struct kymo_python_events *python);

/* python_lines.c: the line of a place in a function's instructions, in bytes from their begin; 0:
 * it has none. Of a frame that has not begun, whose place lies before them, it is the first. lines:
 * co_lnotab of 3.9, co_linetable of later versions; may be NULL, and then the line is not known
 * (0). Whatever it holds, only its bytes are read. */
uint32_t kymo_python_line(uint32_t minor, const uint8_t *lines, uint32_t len, uint32_t first_line,
                          uint32_t at);

#endif
