/* SPDX-License-Identifier: Apache-2.0 */
/*
 * past_intervals.h - keeps intervals that have ended, while a request waits for a profile of a time
 * that began in them.
 *
 * Layer:    recorder
 * Flow:     launch.c (an interval has ended) -> [past_intervals] -> file_answer.c
 * Threads:  the recorder's main thread
 * Memory:   a descriptor for each; the files are those that the intervals were written to
 * Signals:  not for handlers
 *
 * Limits: KYMO_PAST_INTERVALS of them, KYMO_PAST_BYTES together. Beyond these the oldest goes, and
 * a request that needed it fails.
 */
#ifndef KYMO_RECORDER_PAST_INTERVALS_H
#define KYMO_RECORDER_PAST_INTERVALS_H

#include "base/vec.h"
#include "recording/recording.h"

#define KYMO_PAST_INTERVALS 1024u
#define KYMO_PAST_BYTES (512ull << 20)

struct kymo_past_interval {
    struct kymo_recording_interval recording;
    uint64_t end_ns;
};

struct kymo_past_intervals {
    KYMO_VEC(struct kymo_past_interval) list; /* oldest first */
    uint64_t bytes;
    uint64_t gone_ns; /* end of the newest one that was not kept, though it was needed; 0: none */
};

/* An interval has ended. fd: its file, which the caller keeps; bytes: as far as it is read.
 * since_ns: what ended before is not needed. */
void kymo_past_intervals_keep(struct kymo_past_intervals *past, int fd, uint64_t bytes,
                              uint64_t end_ns, uint64_t since_ns);
/* Drops what ended before; UINT64_MAX: all. */
void kymo_past_intervals_forget(struct kymo_past_intervals *past, uint64_t since_ns);
/* Whether all are there that ended after that time. */
int kymo_past_intervals_has(const struct kymo_past_intervals *past, uint64_t since_ns);

#endif
