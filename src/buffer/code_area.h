/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_area.h - the code objects of an interpreter that samples name.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     capture/python_stack.c -> [code area of a session] -> drain_codes.c
 * Threads:  any may intern; the drain reads what is published
 * Memory:   the session's; records are appended and never changed
 * Signals:  interning is safe
 *
 * Code is copied when a sample first meets it, with its name, its file and its line table: its
 * memory may be freed and used again for other code a moment later. So a record is found by the
 * address of the code and by what that holds (the addresses of name, file and line table, the first
 * line): other code at the same address is another record.
 */
#ifndef KYMO_BUFFER_CODE_AREA_H
#define KYMO_BUFFER_CODE_AREA_H

#include <stdint.h>

#include "base/attr.h"
#include "buffer/session.h"

#define KYMO_CODE_NAME_MAX 256u    /* bytes of a name; of a longer one the begin is kept */
#define KYMO_CODE_FILE_MAX 512u    /* of a longer path the end is kept */
#define KYMO_CODE_LINES_MAX 16384u /* bytes; of code with more, lines are not known */
#define KYMO_CODE_NO_LINES UINT16_MAX
/* Behind a record at most. */
#define KYMO_CODE_BYTES_MAX (KYMO_CODE_NAME_MAX + KYMO_CODE_FILE_MAX + KYMO_CODE_LINES_MAX)

/* What tells one code object from another. */
struct kymo_code_identity {
    uint64_t address;
    uint64_t file, name, lines; /* addresses */
    uint64_t first_line;
};

/* In front of each; name, file and line table follow, one behind the other, up to a whole word. */
struct kymo_code_record {
    struct kymo_code_identity identity;
    uint32_t words; /* of the whole record */
    uint16_t minor; /* of the interpreter's version 3 */
    uint16_t name_len, file_len;
    uint16_t lines_len; /* or KYMO_CODE_NO_LINES: it is not here. An empty table is one, too */
};

/* The record of this code: its number (words from the begin of the area); 0: there is none. */
KYMO_SIGNAL_SAFE uint32_t kymo_code_find(struct kymo_session *session,
                                         const struct kymo_session_plan *plan,
                                         const struct kymo_code_identity *identity);
/* Room for a record with this many bytes behind it; NULL: the area is full. *number: its own. */
KYMO_SIGNAL_SAFE struct kymo_code_record *kymo_code_claim(struct kymo_session *session,
                                                          const struct kymo_session_plan *plan,
                                                          uint32_t bytes, uint32_t *number);
/* Publishes a claimed record that is filled; the number of an equal one that came first, else its
 * own; 0: the index is full. */
KYMO_SIGNAL_SAFE uint32_t kymo_code_publish(struct kymo_session *session,
                                            const struct kymo_session_plan *plan, uint32_t number);

#endif
