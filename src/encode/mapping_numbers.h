/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping_numbers.h - numbers the mappings of one file of pprof or OTLP, from 1.
 *
 * Layer:    encode; above profile
 * Flow:     modules of a profile -> [mapping_numbers] -> pprof.c, otlp.c
 * Threads:  one owner at a time
 * Memory:   eight bytes for each module
 * Signals:  not for handlers
 *
 * Forked children have their parent's mappings: a hundred workers share one set. Readers take the
 * first mapping for the main program, so it is that of the main process; then come other
 * executables, and then the rest.
 */
#ifndef KYMO_ENCODE_MAPPING_NUMBERS_H
#define KYMO_ENCODE_MAPPING_NUMBERS_H

#include "base/error.h"
#include "profile/tables.h"

typedef struct kymo_mapping_numbers {
    const kymo_profile *p;
    uint32_t *of;     /* by module: its number */
    uint32_t *module; /* by number: the first module that has it */
    uint32_t count;
} kymo_mapping_numbers;

/* To deinit also after KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_mapping_numbers_init(kymo_mapping_numbers *numbers, const kymo_profile *profile);
void kymo_mapping_numbers_deinit(kymo_mapping_numbers *numbers);
/* The mapping of a frame, 0 for none, and its runtime address. An address that is not in the
 * mapping of its module (a second executable segment) has none. */
uint32_t kymo_mapping_number(const kymo_mapping_numbers *numbers, const kymo_frame *frame,
                             uint64_t *address);
/* The build-id of a module in hexadecimal, without a NUL. Returns its length; 0: it has none. */
size_t kymo_build_id_hex(const kymo_module *module, char out[2 * KYMO_BUILD_ID_MAX]);

#endif
