/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_answer.h - answers requests for files: the live heap of a process that is being recorded, or
 * the recording so far.
 *
 * Layer:    recorder
 * Flow:     tree_control.c -> [file_answer] -> finish.h, kymo/encode.h -> control_client.c
 * Threads:  the recorder's main thread
 * Memory:   a child process for each answer, with a copy of the table of live allocations
 * Signals:  not for handlers
 *
 * Symbolizing takes seconds, in which the recorder must go on. So it forks a child that symbolizes
 * and sends the answer.
 */
#ifndef KYMO_RECORDER_FILE_ANSWER_H
#define KYMO_RECORDER_FILE_ANSWER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "control/control.h"
#include "recording/recording.h"

#define KYMO_FILE_ANSWERS 4u /* at a time */

struct kymo_file_answers {
    pid_t pids[KYMO_FILE_ANSWERS]; /* 0: none */
};

/* Starts an answer. The writer has been flushed; recording is the open file that it writes. The
 * caller keeps the connection and closes it. KYMO_E_FULL: too many answers are running. */
KYMO_NODISCARD
kymo_err kymo_file_answers_start(struct kymo_file_answers *answers, int recording,
                                 kymo_recording_writer *writer,
                                 const struct kymo_control_request *request, int connection);
/* Reaps children that have ended. */
void kymo_file_answers_reap(struct kymo_file_answers *answers);

#endif
