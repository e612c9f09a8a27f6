/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eh_functions.h - where functions begin and end in a file that has no symbols for them.
 *
 * Layer:    symbolize; above elf_file.h
 * Flow:     .eh_frame_hdr, .eh_frame -> [eh functions] -> module_symbols.c
 * Threads:  the file's
 * Memory:   the sections' content stays loaded until the file is closed
 * Signals:  not for handlers
 *
 * What unwinds the stack needs a description of each function, which `strip` therefore leaves. The
 * table of .eh_frame_hdr is sorted by the functions' addresses.
 */
#ifndef KYMO_SYMBOLIZE_EH_FUNCTIONS_H
#define KYMO_SYMBOLIZE_EH_FUNCTIONS_H

#include "symbolize/elf_file.h"

/* Zero bytes are one without functions. */
typedef struct kymo_eh_functions {
    kymo_span rows;  /* pairs of 4 bytes: start, description, relative to header */
    kymo_span frame; /* .eh_frame */
    uint64_t header_address;
    uint64_t frame_address;
} kymo_eh_functions;

/* The sections of a file; of a file without them, or with an encoding that no linker uses, nothing
 * is found later. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_eh_functions_open(kymo_elf_file *file, kymo_eh_functions *out);

/* The function that an ELF address lies in: its start, and how many bytes it has. */
bool kymo_eh_functions_find(const kymo_eh_functions *f, uint64_t address, uint64_t *start,
                            uint64_t *size);

#endif
