/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_types.h - categories and types of markers for what most programs have.
 *
 * Flow:     your code -> [these] -> marker.h
 * Threads:  as marker.h
 * Memory:   static, of each file that includes this
 * Signals:  as marker.h
 *
 *     KYMO_SCOPE_T(kymo_file, "save", kymo_file_operation, io);
 *     io.operation = KYMO_LITERAL("write");
 *     io.path = path;
 *     io.bytes = n;
 *
 * Two programs that use these have the same columns in the same places. A program that needs
 * another field declares its own type; that is why these are so short.
 */
#ifndef KYMO_MARKER_TYPES_H
#define KYMO_MARKER_TYPES_H

#include "kymo/marker.h"

KYMO_CATEGORY(kymo_file, "File I/O", BLUE);
KYMO_CATEGORY(kymo_network, "Network", LIGHTBLUE);
KYMO_CATEGORY(kymo_lock, "Lock", RED);
KYMO_CATEGORY(kymo_log, "Log", YELLOW);
KYMO_CATEGORY(kymo_task, "Task", GREEN);

/* A text, where it shall have a name of its own among the types. */
#define KYMO_TEXT_NOTE_FIELDS(F) F(text, text, "Text", STRING, KYMO_FIELD_SEARCHABLE)
KYMO_TYPE(kymo_text_note, "TextNote", KYMO_TEXT_NOTE_FIELDS,
          KYMO_ALL_LABELS(kymo_text_note, "", text));

/* error: an errno, 0 where all is well. */
#define KYMO_FILE_OPERATION_FIELDS(F)                      \
    F(literal, operation, "Operation", STRING, 0)          \
    F(str, path, "Path", FILE_PATH, KYMO_FIELD_SEARCHABLE) \
    F(u64, bytes, "Size", BYTES, 0)                        \
    F(opt_u64, offset, "Offset", BYTES, 0)                 \
    F(i64, error, "Error", INTEGER, 0)
KYMO_TYPE(kymo_file_operation, "FileOperation", KYMO_FILE_OPERATION_FIELDS,
          .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE | KYMO_SHOW_FILEIO,
          KYMO_ALL_LABELS(kymo_file_operation, "", operation, " ", path));

/* request: connects it with what else is done for it; 0: nothing. */
#define KYMO_NETWORK_REQUEST_FIELDS(F)             \
    F(str, method, "Method", STRING, 0)            \
    F(str, url, "URL", URL, KYMO_FIELD_SEARCHABLE) \
    F(u64, status, "Status", INTEGER, 0)           \
    F(u64, sent, "Sent", BYTES, 0)                 \
    F(u64, received, "Received", BYTES, 0)         \
    F(flow, request, "Request", FLOW_ID, 0)
KYMO_TYPE(kymo_network_request, "NetworkRequest", KYMO_NETWORK_REQUEST_FIELDS,
          .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE | KYMO_SHOW_NETWORK,
          KYMO_ALL_LABELS(kymo_network_request, "", method, " ", url));

/* owner: the thread that has it, as kymo_thread_id() says; 0: not known. */
#define KYMO_LOCK_WAIT_FIELDS(F)                        \
    F(str, lock, "Lock", STRING, KYMO_FIELD_SEARCHABLE) \
    F(ptr, address, "Address", HEXADECIMAL, 0)          \
    F(u64, owner, "Owner", TID, 0)
KYMO_TYPE(kymo_lock_wait, "LockWait", KYMO_LOCK_WAIT_FIELDS,
          KYMO_ALL_LABELS(kymo_lock_wait, "", lock));

#define KYMO_LOG_MESSAGE_FIELDS(F)                          \
    F(literal, level, "Level", STRING, 0)                   \
    F(str, module, "Module", STRING, KYMO_FIELD_SEARCHABLE) \
    F(text, message, "Message", STRING, KYMO_FIELD_SEARCHABLE)
KYMO_TYPE(kymo_log_message, "LogMessage", KYMO_LOG_MESSAGE_FIELDS,
          KYMO_ALL_LABELS(kymo_log_message, "", level, " ", message));

/* id: the program's number of it. */
#define KYMO_TASK_RUN_FIELDS(F)                         \
    F(str, task, "Task", STRING, KYMO_FIELD_SEARCHABLE) \
    F(u64, id, "Number", INTEGER, 0)                    \
    F(str, queue, "Queue", STRING, 0)                   \
    F(ns, waited, "Waited", DURATION, 0)                \
    F(flow, flow, "Flow", FLOW_ID, 0)
KYMO_TYPE(kymo_task_run, "TaskRun", KYMO_TASK_RUN_FIELDS, KYMO_ALL_LABELS(kymo_task_run, "", task));

/* Where work comes by, and where it ends, for markers that have nothing else to say. */
#define KYMO_FLOW_STEP_FIELDS(F) F(flow, flow, "Flow", FLOW_ID, 0)
KYMO_TYPE(kymo_flow_step, "FlowStep", KYMO_FLOW_STEP_FIELDS,
          .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE);
#define KYMO_FLOW_END_FIELDS(F) F(flow, flow, "Flow", TERMINATING_FLOW_ID, 0)
KYMO_TYPE(kymo_flow_end, "FlowEnd", KYMO_FLOW_END_FIELDS,
          .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE);

#endif
