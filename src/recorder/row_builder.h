/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_builder.h - makes row tables of the modules that are sampled, beside the recording.
 *
 * Layer:    recorder
 * Flow:     host.c -> [row_builder] -> table area -> capture/tables.c
 * Threads:  a thread of its own, of the lowest priority: what it does must not delay the rounds,
 *           nor take a CPU from the program
 * Memory:   owns its queue; writes into the area that it was given
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_ROW_BUILDER_H
#define KYMO_RECORDER_ROW_BUILDER_H

#include <stdint.h>

#include "base/error.h"
#include "buffer/session.h"
#include "buffer/table_area.h"

typedef struct kymo_row_builder kymo_row_builder;

/* One module. */
struct kymo_row_job {
    char *path; /* from malloc; the builder frees it */
    uint64_t map_start, map_end, bias;
    uint32_t build_id_len;
    uint8_t build_id[KYMO_BUILD_ID_MAX];
};

/* area: of size bytes, zeroed, mapped until destroy. */
KYMO_NODISCARD
kymo_err kymo_row_builder_create(struct kymo_table_area *area, uint64_t size,
                                 kymo_row_builder **out);
/* Lets the table in work be finished, forgets the others. NULL is allowed. */
void kymo_row_builder_destroy(kymo_row_builder *builder);
/* Takes the job over, path included. What cannot be built is left out: it is interpreted. */
void kymo_row_builder_add(kymo_row_builder *builder, const struct kymo_row_job *job);

#endif
