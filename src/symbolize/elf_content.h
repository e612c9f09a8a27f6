/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_content.h - the bytes of a section, decompressed as far as they are asked for.
 *
 * Layer:    symbolize (cold half); above elf_file
 * Flow:     elf_file -> [elf_content] -> elf_symbols, dwarf_*, debug_files
 * Threads:  one owner at a time
 * Memory:   the file owns what was loaded; unload and kymo_elf_close free it
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_ELF_CONTENT_H
#define KYMO_SYMBOLIZE_ELF_CONTENT_H

#include "symbolize/elf_file.h"

/* The whole content, decompressed; kept until as many unloads as loads, or close: a hostile file
 * may give one section two roles. A byte 0 follows the content, so that text in it is always
 * terminated. Errors: KYMO_E_CORRUPT, KYMO_E_UNSUPPORTED (an unknown compression), KYMO_E_TOO_BIG,
 * KYMO_E_IO, KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_elf_load(kymo_elf_file *file, kymo_elf_section *section, kymo_span *out);
/* The same, but nothing is read yet: *out is empty. kymo_elf_load_to makes it longer. */
KYMO_NODISCARD
kymo_err kymo_elf_load_begin(kymo_elf_file *file, kymo_elf_section *section, kymo_span *out);
/* Of a section that is loaded, its bytes [0, end) at least, or all if there are fewer. They stay
 * where they are when it becomes longer. What can be read is in *out after an error, too, which
 * comes again at each call. */
KYMO_NODISCARD
kymo_err kymo_elf_load_to(kymo_elf_file *file, kymo_elf_section *section, uint64_t end,
                          kymo_span *out);
void kymo_elf_unload(kymo_elf_section *section);

/* For elf_file.c. */
void kymo_elf_content_free(struct kymo_elf_content **content);

#endif
