/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_notes.h - finds the build-id among the notes of an ELF file.
 *
 * Layer:    sys; above base
 * Flow:     a PT_NOTE segment or SHT_NOTE section -> [elf_notes] -> capture, observe, symbolize
 * Threads:  any
 * Memory:   borrows the notes
 * Signals:  safe
 */
#ifndef KYMO_SYS_ELF_NOTES_H
#define KYMO_SYS_ELF_NOTES_H

#include <elf.h>

#include "base/reader.h"

/* Where in the notes it is; NULL: there is none of 1 to max bytes. *len is set with it. */
KYMO_SIGNAL_SAFE static inline const unsigned char *kymo_elf_build_id(const void *notes,
                                                                      uint64_t size, uint32_t max,
                                                                      uint32_t *len)
{
    kymo_reader r = kymo_reader_of(notes, size);
    while (kymo_reader_left(&r) >= sizeof(Elf64_Nhdr)) {
        uint32_t name_bytes = kymo_read_u32(&r);
        uint32_t bytes = kymo_read_u32(&r);
        uint32_t type = kymo_read_u32(&r);
        const void *name = kymo_read_bytes(&r, ((uint64_t)name_bytes + 3) & ~3ull);
        if (!name || bytes > kymo_reader_left(&r))
            return NULL;
        if (type == NT_GNU_BUILD_ID && name_bytes == 4 && memcmp(name, "GNU", 4) == 0 &&
            bytes >= 1 && bytes <= max) {
            *len = bytes;
            return r.at;
        }
        kymo_reader_skip(&r, ((uint64_t)bytes + 3) & ~3ull);
    }
    return NULL;
}

#endif
