/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eh_functions.h - begins and ends of functions in a file without symbols.
 *
 * Layer:    symbolize; above elf_file.h
 * Flow:     .eh_frame_hdr, .eh_frame -> [eh functions] -> module_symbols.c
 * Threads:  the file's
 * Memory:   the sections' content stays loaded until the file is closed
 * Signals:  not for handlers
 *
 * Unwinding needs a description of each function, so `strip` keeps them. The table of .eh_frame_hdr
 * is sorted by address.
 */
#ifndef KYMO_SYMBOLIZE_EH_FUNCTIONS_H
#define KYMO_SYMBOLIZE_EH_FUNCTIONS_H

#include "symbolize/elf_file.h"

/* All zero has no functions. */
typedef struct kymo_eh_functions {
    kymo_span rows;  /* pairs of 4 bytes: start, description, relative to header */
    kymo_span frame; /* .eh_frame */
    uint64_t header_address;
    uint64_t frame_address;
} kymo_eh_functions;

/* Loads the sections of a file. If they are missing, or use an encoding of no known linker,
 * nothing will be found. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_eh_functions_open(kymo_elf_file *file, kymo_eh_functions *out);

/* The function that contains an ELF address: its start and size. */
bool kymo_eh_functions_find(const kymo_eh_functions *f, uint64_t address, uint64_t *start,
                            uint64_t *size);

#endif
