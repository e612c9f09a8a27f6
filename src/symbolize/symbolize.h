/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize.h - from (module, ELF address) to names, files, lines and inlined frames.
 *
 * Layer:    symbolize (cold half); above base. Does not know profiles: apply.h does
 * Flow:     profile tables -> [symbolizer] -> profile tables
 * Threads:  a symbolizer and all its modules belong to one thread at a time
 * Memory:   the symbolizer owns modules and strings; kymo_symbolizer_destroy frees all of them
 * Signals:  not for handlers
 *
 * Every file read here may be hostile: any input gives symbols, fewer symbols, or an error.
 *
 * Use:  kymo_symbolizer *s;
 *       KYMO_TRY(kymo_symbolizer_create(NULL, &s));
 *       if (kymo_symbolizer_open_module(s, &module, &symbols, &status) == KYMO_OK)
 *           err = kymo_module_symbolize(symbols, addresses, n, results, &frames);
 *       ...
 *       kymo_symbol_frames_deinit(&frames);
 *       kymo_symbolizer_destroy(s);
 */
#ifndef KYMO_SYMBOLIZE_SYMBOLIZE_H
#define KYMO_SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* One function at an address: the function itself, or one inlined into it. Strings are valid
 * until kymo_symbolizer_destroy; equal strings of one symbolizer are the same pointer. */
typedef struct kymo_symbol_frame {
    const char *function;    /* demangled; NULL: unnamed */
    const char *system_name; /* as in the symbol table or DW_AT_linkage_name; NULL with function */
    const char *file;    /* path as the compiler wrote it, absolute if possible; NULL: unknown */
    uint32_t line;       /* of the address, or of the call site of the inlined function; 0:
                          * unknown */
    uint32_t start_line; /* of the function's declaration; 0: unknown */
} kymo_symbol_frame;

/* A growable array of frames; the caller owns it. Zero bytes are a valid, empty one. */
typedef struct kymo_symbol_frames {
    kymo_symbol_frame *data;
    size_t len;
    size_t cap;
} kymo_symbol_frames;

void kymo_symbol_frames_deinit(kymo_symbol_frames *frames);

typedef struct kymo_symbol_result {
    uint32_t first_frame; /* in the array of frames; leaf (innermost inlined function) first */
    uint32_t n_frames;    /* 0: nothing known; else the last one is the function that was called */
    uint64_t symbol_address;     /* of the native symbol (ELF vaddr); see symbol_name */
    uint64_t symbol_size;        /* its extent in bytes */
    const char *symbol_name;     /* as in the symbol table, or `name@plt`; NULL: in no symbol */
    const char *symbol_function; /* the same as a function's name: demangled, without a version */
    uint64_t function_address;   /* where there are no names: the function that the unwind tables */
    uint64_t function_size;      /* have there, and its extent; 0: none */
    bool named;                  /* the address lies in a symbol's extent or a DWARF subprogram */
} kymo_symbol_result;

typedef struct kymo_symbolizer kymo_symbolizer;
typedef struct kymo_module_symbols kymo_module_symbols;

/* All zero is the default. create copies strings. */
typedef struct kymo_symbolizer_options {
    const char *const *debug_dirs; /* NULL: /usr/lib/debug */
    size_t n_debug_dirs;
    const struct kymo_section_cache *cache; /* of inflated sections; borrowed; NULL: none */
} kymo_symbolizer_options;

/* A module to symbolize. Strings and bytes are borrowed: paths during the call, the image for
 * the life of the symbolizer. */
typedef struct kymo_symbol_module {
    /* Candidate files, best first: the path as the process saw it, /proc/PID/map_files/A-B,
     * /proc/PID/root/..., in any order. NULL entries are skipped. */
    const char *const *paths;
    size_t n_paths;
    /* An ELF image in memory (the vDSO), tried before files. NULL: none. */
    const void *image;
    size_t image_size;
    /* The build-id in memory; at most 64 bytes. Length 0: not known. */
    const unsigned char *build_id;
    size_t build_id_len;
    /* Without a known build-id a file is used only if this is set, and the status says so. With
     * a known one, a file with another or no build-id is never used. */
    bool allow_unverified;
    /* The image in memory has no build-id, so only a file without one can match. */
    bool without_build_id;
} kymo_symbol_module;

/* The result; also set when opening fails. Strings are valid as long as the symbolizer. */
typedef struct kymo_symbol_status {
    kymo_err err;     /* what open_module returned */
    const char *file; /* the module's own file ("[image]" for one in memory); NULL: none used */
    const char *debug_file; /* separate debug file; NULL: none */
    const char *alt_file;   /* dwz file that .gnu_debugaltlink names; NULL: none */
    bool symtab;            /* a .symtab was read from some file */
    bool dynsym;
    bool debugdata;  /* .gnu_debugdata was read */
    bool dwarf;      /* there is a .debug_info (it is read when addresses are asked for) */
    bool complete;   /* has symbols of all functions, not only of exported ones */
    bool unverified; /* there was no build-id to compare */
    /* A candidate was refused: its build-id differs from memory (the file was replaced). */
    bool mismatched;
    bool alt_missing; /* a dwz file is named but missing: some names will be missing */
    size_t n_symbols; /* distinct addresses in the merged symbol table */
} kymo_symbol_status;

/* options may be NULL. Errors: KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_symbolizer_create(const kymo_symbolizer_options *options, kymo_symbolizer **out);
/* NULL is allowed. */
void kymo_symbolizer_destroy(kymo_symbolizer *symbolizer);

/* Finds the files of a module and reads their symbol tables (DWARF is read when needed). *out
 * belongs to the symbolizer; modules with the same build-id share it. status may be NULL; it is
 * set in any case. A separate debug file alone (found by build-id) is enough. Errors:
 *   KYMO_E_MISMATCH   all files have another build-id: none was used
 *   KYMO_E_NOT_FOUND  no file, or no build-id to verify by and !allow_unverified
 *   KYMO_E_CORRUPT, KYMO_E_UNSUPPORTED  no readable ELF file (64-bit, little-endian)
 *   KYMO_E_PERMISSION, KYMO_E_IO, KYMO_E_NOMEM */
KYMO_NODISCARD
kymo_err kymo_symbolizer_open_module(kymo_symbolizer *symbolizer, const kymo_symbol_module *module,
                                     kymo_module_symbols **out, kymo_symbol_status *status);

/* Frees the tables of a module, not its strings, so that a long list of modules need not be kept
 * in memory. The module is opened again on the next use. */
void kymo_module_close(kymo_module_symbols *symbols);

/* Symbolizes n addresses, in any order: ELF vaddrs (runtime address minus load bias); for return
 * addresses, the address minus 1. results has n elements; results[i] is for addresses[i]; its
 * frames are appended to *frames. Damaged DWARF gives fewer names, not an error. Errors:
 * KYMO_E_NOMEM, KYMO_E_TOO_BIG (more than UINT32_MAX frames). */
KYMO_NODISCARD
kymo_err kymo_module_symbolize(kymo_module_symbols *symbols, const uint64_t *addresses, size_t n,
                               kymo_symbol_result *results, kymo_symbol_frames *frames);

#endif
