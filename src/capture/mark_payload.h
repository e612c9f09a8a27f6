/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_payload.h - writes a marker's payload: the image of a C structure, texts, lists, cells.
 *
 * Layer:    capture
 * Flow:     mark_slow.c -> [payload] -> a record (buffer/record.h)
 * Threads:  any
 * Signals:  safe
 *
 * A pen writes what fits into its room, and counts the bytes that everything would need. If the
 * room was too small, the caller makes room and writes once more. Texts are made shorter where a
 * record would be longer than it may be.
 */
#ifndef KYMO_CAPTURE_MARK_PAYLOAD_H
#define KYMO_CAPTURE_MARK_PAYLOAD_H

#include "buffer/record.h"
#include "capture/mark.h"

struct kymo_mark_pen {
    char *to;       /* the payload's start; 8-byte aligned */
    uint32_t room;  /* bytes that may be written */
    uint32_t limit; /* bytes that it may come to */
    uint32_t used;  /* so far */
    uint32_t cut;   /* texts that were made shorter */
};

/* A copy of a text; the slot that says where it is. NULL: one that says that there is none. */
KYMO_SIGNAL_SAFE struct kymo_text_slot kymo_mark_put_text(struct kymo_mark_pen *pen,
                                                          const char *text, size_t len);
/* Cells, and behind them their texts. Returns how many there was room for; *at is where they are.
 */
KYMO_SIGNAL_SAFE uint32_t kymo_mark_put_cells(struct kymo_mark_pen *pen,
                                              const struct kymo_mark_cell *cells, size_t count,
                                              uint32_t *at);
/* The payload of this site's kind and type: by its fields, or as it is. */
KYMO_SIGNAL_SAFE void kymo_mark_put_payload(struct kymo_mark_pen *pen,
                                            struct kymo_capture_process *process,
                                            const struct kymo_mark_site *site, const void *payload);

#endif
