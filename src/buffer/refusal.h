/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusal.h - a short list of what a recorded process started without us, and why.
 *
 * Layer:    buffer
 * Flow:     capture/ exec hooks -> [refusal] -> recorder
 * Threads:  any number of writers, one reader
 * Memory:   a ring in the session's header: the reader comes by many times a second, and what it
 *           was too slow for is counted, not kept
 * Signals:  kymo_refusal_write is safe; a child of vfork may call it, too
 */
#ifndef KYMO_BUFFER_REFUSAL_H
#define KYMO_BUFFER_REFUSAL_H

#include "buffer/session.h"

/* Notes that this process starts path without us. */
KYMO_SIGNAL_SAFE void kymo_refusal_write(struct kymo_session *session, int32_t pid,
                                         enum kymo_refusal_reason reason, const char *path);

/* Copies the next one out, checked: its path ends, its reason is one. *seen counts those that were
 * taken (0 at first). Returns 0 if there is none. What was overwritten before it was read is added
 * to *missed. The recorder's side: the session is hostile. */
int kymo_refusal_read(const struct kymo_session *session, uint32_t *seen, struct kymo_refusal *out,
                      uint64_t *missed);

#endif
