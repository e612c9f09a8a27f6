/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_tables.h - the row tables of a recording: made of files that are sampled much, beside the
 * recording, once for all of its processes.
 *
 * Layer:    recorder
 * Flow:     session_events.c, host.c -> [row_tables] -> shared memory -> capture/tables.c
 * Threads:  the recorder's main thread, and one of its own of the lowest priority: what that does
 *           must not delay the rounds, nor take a CPU from the program
 * Memory:   owns the shared memory, which programs can only read
 * Signals:  not for handlers
 *
 * A table costs up to a quarter of a second of the recorder's time, and saves a microsecond or two
 * a sample: it is made once the processes that map the file have been sampled often enough. Those
 * that start later have it at once.
 */
#ifndef KYMO_RECORDER_ROW_TABLES_H
#define KYMO_RECORDER_ROW_TABLES_H

#include <stdint.h>

#include "base/error.h"
#include "buffer/session.h"

#define KYMO_ROW_TABLES_SAMPLES 5000u

typedef struct kymo_row_tables kymo_row_tables;

/* size_bytes of address space; memory is taken as tables are made. */
KYMO_NODISCARD
kymo_err kymo_row_tables_create(uint64_t size_bytes, kymo_row_tables **out);
/* Lets the table in work be finished, forgets the others. NULL is allowed. */
void kymo_row_tables_destroy(kymo_row_tables *tables);

/* The shared memory, for the programs. */
int kymo_row_tables_memory(const kymo_row_tables *tables);
uint64_t kymo_row_tables_bytes(const kymo_row_tables *tables);

/* The number of the file at path with this build-id, which may be known already; UINT32_MAX if it
 * cannot be had. Two files are one if device, inode, size, time of change and build-id are the
 * same: who may not write to a file cannot make another's table be used for it. */
uint32_t kymo_row_tables_file(kymo_row_tables *tables, const char *path, const uint8_t *build_id,
                              uint32_t build_id_len);
/* So many more samples were taken of a process that maps the file. */
void kymo_row_tables_count(kymo_row_tables *tables, uint32_t file, uint64_t samples);

enum kymo_row_tables_answer { KYMO_ROW_TABLE_LATER, KYMO_ROW_TABLE_HERE, KYMO_ROW_TABLE_NEVER };
/* Whether there is a table of the file. If so, place->at, size_bytes and base are set, base as if
 * the file were loaded without a bias. */
enum kymo_row_tables_answer kymo_row_tables_find(kymo_row_tables *tables, uint32_t file,
                                                 struct kymo_table_entry *place);

#endif
