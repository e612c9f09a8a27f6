/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_recording.h - a small recording that has each kind of event in it, and files in memory.
 */
#ifndef KYMO_TESTS_SAMPLE_RECORDING_H
#define KYMO_TESTS_SAMPLE_RECORDING_H

#include "base/bytes.h"
#include "recording/events.h"

/* Gives all events to the handler. The order is one in which a reader gives them back, so that the
 * text of what was written equals the text of what is read. */
kymo_err sample_recording_emit(const kymo_event_handler *handler, void *ctx);

/* The same through a writer (its flags), into bytes. */
kymo_err sample_recording_write(unsigned flags, kymo_bytes *out);

/* Runs `emit` with a writer whose file is in memory, and appends the file to *out. */
typedef kymo_err (*recording_emit)(const kymo_event_handler *handler, void *ctx);
kymo_err recording_to_bytes(recording_emit emit, unsigned flags, kymo_bytes *out);

#endif
