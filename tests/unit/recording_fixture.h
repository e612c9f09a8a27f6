/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings in memory, and what is read from them as text. */
#ifndef KYMO_TESTS_RECORDING_FIXTURE_H
#define KYMO_TESTS_RECORDING_FIXTURE_H

#include "recording/event_text.h"
#include "recording/recording.h"
#include "recording/sample_recording.h"
#include "unit.h"

#define RECORDING_LIMIT (8u << 20)

/* What emit emits, as a file; the caller's to deinit. */
static inline kymo_bytes file_of(recording_emit emit)
{
    kymo_bytes file;
    kymo_bytes_init(&file, RECORDING_LIMIT);
    assert_int_equal(recording_to_bytes(emit, 0, &file), KYMO_OK);
    return file;
}

/* Appends a line for each event. */
static inline kymo_recording_report read_into(const kymo_bytes *file, kymo_str *text)
{
    kymo_recording_report report;
    assert_int_equal(kymo_recording_read_memory(file->data, file->len, 0, &event_text_handler, text,
                                                &report, NULL),
                     KYMO_OK);
    return report;
}

#endif
