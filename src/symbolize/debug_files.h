/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_files.h - finds the files with the debug information that was stripped from a module.
 *
 * Layer:    symbolize (cold half); above elf_file
 * Flow:     module, build-id -> [debug_files] -> symbolize
 * Threads:  any, each with its own files
 * Memory:   opened files belong to the caller
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_DEBUG_FILES_H
#define KYMO_SYMBOLIZE_DEBUG_FILES_H

#include "base/str.h"
#include "symbolize/elf_file.h"

/* The directories to search. */
typedef struct kymo_debug_places {
    const char *const *dirs;
    size_t n_dirs;
} kymo_debug_places;

/* Opens `path` if accept returns true for the file; else KYMO_E_MISMATCH. Sets *used to the
 * path. */
typedef bool (*kymo_debug_accept)(void *user, kymo_elf_file *file);
KYMO_NODISCARD
kymo_err kymo_debug_open(const char *path, kymo_debug_accept accept, void *user,
                         kymo_elf_file **out, kymo_str *used);

/* DIR/.build-id/xx/yyyy.debug, if it has that build-id. */
KYMO_NODISCARD
kymo_err kymo_debug_by_build_id(const kymo_debug_places *places, const unsigned char *id,
                                size_t id_len, kymo_elf_file **out, kymo_str *used);
/* The file named by .gnu_debuglink of `file`: in the directory of module_path, its .debug, and
 * below each debug directory. The build-ids must be equal; if one file has none, the CRC must. */
KYMO_NODISCARD
kymo_err kymo_debug_by_link(const kymo_debug_places *places, kymo_elf_file *file,
                            const char *module_path, kymo_elf_file **out, kymo_str *used);
/* The dwz file named by .gnu_debugaltlink of `file`, by path and by build-id. KYMO_E_INVALID:
 * there is no such link. */
KYMO_NODISCARD
kymo_err kymo_debug_alt(const kymo_debug_places *places, kymo_elf_file *file, const char *file_path,
                        kymo_elf_file **out, kymo_str *used);
/* The small symbol table in .gnu_debugdata (LZMA). *bytes is the image; free it after closing
 * *out. KYMO_E_NOT_FOUND: there is none. */
KYMO_NODISCARD
kymo_err kymo_debug_mini(kymo_elf_file *file, unsigned char **bytes, kymo_elf_file **out);

#endif
