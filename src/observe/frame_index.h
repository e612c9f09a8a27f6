/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_index.h - the search table that a file's unwind information lacks.
 *
 * Layer:    observe; above unwind and symbolize
 * Flow:     a mapped file -> [frame_index] -> remote_frames.c
 * Threads:  any
 * Memory:   from malloc, the caller's
 * Signals:  not for handlers
 *
 * Programs that are linked statically may have .eh_frame without .eh_frame_hdr: their own unwinder
 * is told by start files where it is. Here it is read from the file, and its table made.
 */
#ifndef KYMO_OBSERVE_FRAME_INDEX_H
#define KYMO_OBSERVE_FRAME_INDEX_H

#include <stdint.h>

#include "base/error.h"
#include "symbolize/elf_file.h"
#include "unwind/cfi.h"

/* image: the section and behind it the table, at hdr, as both would be mapped with this bias. Its
 * data is to be freed. most: bytes of the section that are read. KYMO_E_NOT_FOUND: there is no such
 * section. KYMO_E_CORRUPT: it says nothing. KYMO_E_TOO_BIG, and what kymo_elf_load_to gives. */
KYMO_NODISCARD
kymo_err kymo_frame_index_make(kymo_elf_file *file, uint64_t bias, uint64_t most,
                               struct kymo_cfi_image *image, uint64_t *hdr);

#endif
