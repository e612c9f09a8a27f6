/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kv_marks.h - what the key-value server and its client put on the timeline: their categories, and
 * the types of their markers.
 *
 * Each file that includes this has its own copies; in a recording they are one.
 */
#ifndef KV_MARKS_H
#define KV_MARKS_H

#include "kymo/marker.h"

KYMO_CATEGORY(request, "Requests", BLUE);
KYMO_SUBCATEGORY(waiting, request, "Waiting");
KYMO_CATEGORY(net, "Network", GREEN);
KYMO_CATEGORY(journal, "Journal", ORANGE);
KYMO_CATEGORY(store, "Store", PURPLE);
KYMO_SUBCATEGORY(lock, store, "Locks");
/* One marker for each recv: too many for every day. KYMO_MARKERS=all:detail switches it on. */
KYMO_CATEGORY_QUIET(detail, "detail", GREY);

/* A request as a whole, from its last byte read to its answer. */
#define KV_REQUEST(F)                                        \
    F(u64, id, "Request", INTEGER, 0)                        \
    F(literal, operation, "Operation", STRING, 0)            \
    F(str, key, "Key", UNIQUE_STRING, KYMO_FIELD_SEARCHABLE) \
    F(literal, outcome, "Outcome", STRING, 0)                \
    F(u32, bytes, "Value", BYTES, 0)                         \
    F(flow, flow, "Flow", FLOW_ID, 0)
KYMO_TYPE(kv_request_marker, "KvRequest", KV_REQUEST,
          KYMO_ALL_LABELS(kv_request_marker, "", operation, " ", key, ": ", outcome),
          .description = "From the last byte of the request to its answer.");

/* A part of a request, in one of the threads that it comes through. */
#define KV_STEP(F)                    \
    F(u64, id, "Request", INTEGER, 0) \
    F(flow, flow, "Flow", FLOW_ID, 0)
KYMO_TYPE(kv_step, "KvStep", KV_STEP, KYMO_ALL_LABELS(kv_step, "request ", id, ""));

/* The last one of these. */
#define KV_LAST_STEP(F)                           \
    F(u64, id, "Request", INTEGER, 0)             \
    F(bool, answered, "Answered here", STRING, 0) \
    F(flow, flow, "Flow", TERMINATING_FLOW_ID, 0)
KYMO_TYPE(kv_last_step, "KvLastStep", KV_LAST_STEP,
          KYMO_ALL_LABELS(kv_last_step, "request ", id, ""));

#define KV_JOURNAL_WRITE(F)                \
    F(str, path, "File", FILE_PATH, 0)     \
    F(u32, entries, "Entries", INTEGER, 0) \
    F(u64, bytes, "Bytes", BYTES, 0)
KYMO_TYPE(kv_journal_write, "KvJournalWrite", KV_JOURNAL_WRITE,
          KYMO_ALL_LABELS(kv_journal_write, "", entries, " entries, ", bytes, ""),
          .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE | KYMO_SHOW_FILEIO,
          .graphs = (const struct kymo_mark_graph[]){{"entries", KYMO_GRAPH_BAR, KYMO_COLOR_ORANGE},
                                                     {NULL, 0, 0}});

#define KV_CONNECTION(F)                     \
    F(u64, number, "Connection", INTEGER, 0) \
    F(u64, requests, "Requests", INTEGER, 0) \
    F(u64, received, "Received", BYTES, 0)
KYMO_TYPE(kv_connection, "KvConnection", KV_CONNECTION,
          KYMO_ALL_LABELS(kv_connection, "connection ", number, ": ", requests, " requests"),
          .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE | KYMO_SHOW_NETWORK);

#endif
