/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_tables.h - makes unwind tables of files that are sampled often, in a background thread, once
 * for all processes of a recording.
 *
 * Layer:    recorder
 * Flow:     session_events.c, host.c -> [row_tables] -> shared memory -> capture/tables.c
 * Threads:  the recorder's main thread, and a builder thread with the lowest priority, so that it
 *           does not delay rounds or take CPU time from the program
 * Memory:   owns the shared memory, which programs can only read
 * Signals:  not for handlers
 *
 * A table costs up to a quarter of a second of the recorder's CPU time, and saves a microsecond or
 * two per sample. So it is made after the processes that map the file have had enough samples.
 * Processes that start later have it immediately.
 */
#ifndef KYMO_RECORDER_ROW_TABLES_H
#define KYMO_RECORDER_ROW_TABLES_H

#include <stdint.h>

#include "base/error.h"
#include "buffer/session.h"

#define KYMO_ROW_TABLES_SAMPLES 5000u

typedef struct kymo_row_tables kymo_row_tables;

/* size_bytes: address space; pages are used as tables are made. */
KYMO_NODISCARD
kymo_err kymo_row_tables_create(uint64_t size_bytes, kymo_row_tables **out);
/* Waits for the table in work, drops the others. NULL is allowed. */
void kymo_row_tables_destroy(kymo_row_tables *tables);

/* The shared memory's descriptor, to be sent to programs. */
int kymo_row_tables_memory(const kymo_row_tables *tables);
uint64_t kymo_row_tables_bytes(const kymo_row_tables *tables);

/* The number of the file at path with this build-id; adds it if new. UINT32_MAX on failure. Two
 * files are the same if device, inode, size, change time and build-id are: a process that cannot
 * write to a file cannot give it another file's table. */
uint32_t kymo_row_tables_file(kymo_row_tables *tables, const char *path, const uint8_t *build_id,
                              uint32_t build_id_len);
/* Adds samples of a process that maps the file. */
void kymo_row_tables_count(kymo_row_tables *tables, uint32_t file, uint64_t samples);

enum kymo_row_tables_answer { KYMO_ROW_TABLE_LATER, KYMO_ROW_TABLE_HERE, KYMO_ROW_TABLE_NEVER };
/* Whether the file has a table. If so, sets place->at, size_bytes and base; base is for a load
 * bias of 0. */
enum kymo_row_tables_answer kymo_row_tables_find(kymo_row_tables *tables, uint32_t file,
                                                 struct kymo_table_entry *place);

#endif
