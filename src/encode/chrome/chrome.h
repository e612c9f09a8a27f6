/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.h - what the parts of a Chrome trace share.
 *
 * Layer:    encode; above profile
 * Flow:     markers, counters, samples of elapsed time -> [chrome] -> a sink
 * Threads:  one encoder at a time
 * Memory:   a few words for each process, thread and open interval
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_CHROME_CHROME_H
#define KYMO_ENCODE_CHROME_CHROME_H

#include "base/json.h"
#include "encode/encoder.h"

struct kymo_chrome {
    kymo_encoder *encoder;
    const kymo_profile *p;
    kymo_json *json;
    uint64_t *pids;   /* by process: no two are the same */
    uint64_t end_ns;  /* of the recording, since the profile's zero */
    uint64_t next_id; /* of an interval that does not nest */
};

/* The keys that all events have, the object is open. phase: one of the format's letters. time_ns:
 * since the profile's zero. */
void kymo_chrome_begin(struct kymo_chrome *w, const char *phase, uint64_t pid, uint64_t tid,
                       uint64_t time_ns);

/* Names a process or thread; what: "process_name" or "thread_name". */
void kymo_chrome_put_name(struct kymo_chrome *w, const char *what, uint64_t pid, uint64_t tid,
                          const char *name);

/* chrome_markers.c */
KYMO_NODISCARD
kymo_err kymo_chrome_write_markers(struct kymo_chrome *w, uint32_t thread);

/* chrome_calls.c: the samples of elapsed time of a thread, as intervals of a track of its own. */
KYMO_NODISCARD
kymo_err kymo_chrome_write_calls(struct kymo_chrome *w, uint32_t thread);

#endif
