/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_answer.h - answers requests for files: the live heap of a process that is being recorded,
 * the recording so far, or what was recorded in some seconds.
 *
 * Layer:    recorder
 * Flow:     tree_control.c -> [file_answer] -> finish.h, select.h, kymo/encode.h ->
 * control_client.c Threads:  the recorder's main thread Memory:   a child process for each answer,
 * with a copy of the table of live allocations Signals:  not for handlers
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
#include "recorder/past_intervals.h"
#include "recording/recording.h"

#define KYMO_FILE_ANSWERS 4u /* at a time */

struct kymo_file_answers {
    pid_t pids[KYMO_FILE_ANSWERS]; /* 0: none */
};

/* What files are made of. The writer has been flushed. */
struct kymo_file_source {
    kymo_recording_writer *writer;
    int recording; /* the open file that it writes; -1: the last interval has ended */
    const struct kymo_past_intervals *past;
    uint64_t asked_ns; /* when the request came */
};

/* Starts an answer. The caller keeps the connection and closes it. KYMO_E_FULL: too many answers
 * are running; KYMO_E_TOO_BIG: intervals that the profile needs were too large to be kept. */
KYMO_NODISCARD
kymo_err kymo_file_answers_start(struct kymo_file_answers *answers,
                                 const struct kymo_file_source *source,
                                 const struct kymo_control_request *request, int connection);
/* Reaps children that have ended. */
void kymo_file_answers_reap(struct kymo_file_answers *answers);

#endif
