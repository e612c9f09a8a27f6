/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_files.h - finding the files that hold what was stripped from a module.
 *
 * Layer:    symbolize (cold half); above elf_file
 * Flow:     module, build-id -> [debug_files] -> symbolize
 * Threads:  any, on files of their own
 * Memory:   opened files belong to the caller
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_DEBUG_FILES_H
#define KYMO_SYMBOLIZE_DEBUG_FILES_H

#include "base/str.h"
#include "symbolize/elf_file.h"

/* Where to look. */
typedef struct kymo_debug_places {
    const char *const *dirs;
    size_t n_dirs;
} kymo_debug_places;

/* Opens `path`, if accept returns true for the file; else KYMO_E_MISMATCH. The path goes to *used.
 */
typedef bool (*kymo_debug_accept)(void *user, kymo_elf_file *file);
KYMO_NODISCARD
kymo_err kymo_debug_open(const char *path, kymo_debug_accept accept, void *user,
                         kymo_elf_file **out, kymo_str *used);

/* DIR/.build-id/xx/yyyy.debug, of that very build-id. */
KYMO_NODISCARD
kymo_err kymo_debug_by_build_id(const kymo_debug_places *places, const unsigned char *id,
                                size_t id_len, kymo_elf_file **out, kymo_str *used);
/* What .gnu_debuglink of `file` names, in the directory of module_path, its .debug, and below each
 * debug directory. The build-ids must be equal; if one of them has none, the CRC must. */
KYMO_NODISCARD
kymo_err kymo_debug_by_link(const kymo_debug_places *places, kymo_elf_file *file,
                            const char *module_path, kymo_elf_file **out, kymo_str *used);
/* The dwz file that .gnu_debugaltlink of `file` names, by path and by build-id. KYMO_E_INVALID:
 * it names none. */
KYMO_NODISCARD
kymo_err kymo_debug_alt(const kymo_debug_places *places, kymo_elf_file *file, const char *file_path,
                        kymo_elf_file **out, kymo_str *used);
/* The small symbol table in .gnu_debugdata (LZMA). *bytes is the image, to be freed after *out was
 * closed. KYMO_E_NOT_FOUND: there is none. */
KYMO_NODISCARD
kymo_err kymo_debug_mini(kymo_elf_file *file, unsigned char **bytes, kymo_elf_file **out);

#endif
