/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_answer.h - answers who asks for the heap of a process that is being recorded.
 *
 * Layer:    recorder
 * Flow:     tree_control.c -> [heap_answer] -> finish.h, kymo/encode.h -> control_client.c
 * Threads:  the recorder's main thread
 * Memory:   a process of its own for each answer, with what the writer knows of what lives
 * Signals:  not for handlers
 *
 * To find names takes seconds, in which the recorder has other things to do. So it forks a process
 * that does it and answers by itself.
 */
#ifndef KYMO_RECORDER_HEAP_ANSWER_H
#define KYMO_RECORDER_HEAP_ANSWER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "control/control.h"
#include "recording/recording.h"

#define KYMO_HEAP_ANSWERS 4u /* at a time */

struct kymo_heap_answers {
    pid_t pids[KYMO_HEAP_ANSWERS]; /* 0: none */
};

/* Begins an answer from the writer, which was flushed, and the recording that is open, which it
 * writes; the connection stays the caller's, to be closed. KYMO_E_FULL: too many are under way. */
KYMO_NODISCARD
kymo_err kymo_heap_answers_start(struct kymo_heap_answers *answers, int recording,
                                 kymo_recording_writer *writer,
                                 const struct kymo_control_request *request, int connection);
/* Takes notice of those that are done. */
void kymo_heap_answers_reap(struct kymo_heap_answers *answers);

/* What such a process does: writes the live heap of a recording into a descriptor. format: how the
 * name of such a file ends, or KYMO_CONTROL_REPORT; pid: whose, 0: all. */
KYMO_NODISCARD
kymo_err kymo_heap_answer_write(int recording, const char *format, pid_t pid, int fd);

#endif
