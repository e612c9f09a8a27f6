/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file.h - one ELF file (or image in memory): its header, segments and sections, and the
 * contents of sections, decompressed as needed (elf_content.c).
 *
 * Layer:    symbolize (cold half); above base
 * Flow:     file -> [elf_file] -> elf_symbols, dwarf_*, debug_files
 * Threads:  one owner at a time
 * Memory:   the file owns the sections that were loaded; unload and close free them
 * Signals:  not for handlers
 *
 * Files are read, not mapped: a file that is truncated while it is mapped kills the reader with
 * SIGBUS. 64-bit little-endian files of any machine are read; everything in them may be hostile.
 */
#ifndef KYMO_SYMBOLIZE_ELF_FILE_H
#define KYMO_SYMBOLIZE_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define KYMO_BUILD_ID_CAP 64u

/* Bytes owned by another object. */
typedef struct kymo_span {
    const unsigned char *data;
    size_t size;
} kymo_span;

typedef struct kymo_elf_section {
    const char *name; /* "" when it has none */
    uint32_t type;
    uint32_t link;
    uint64_t flags;
    uint64_t address;
    uint64_t offset;
    uint64_t size;
    uint64_t entry_size;
    struct kymo_elf_content *content; /* NULL: not loaded */
    uint32_t uses;                    /* loads without an unload */
} kymo_elf_section;

/* What tells a file, and its state, from all others. */
typedef struct kymo_elf_state {
    uint64_t device;
    uint64_t inode;
    uint64_t modified_ns; /* mtime */
    uint64_t changed_ns;  /* ctime */
} kymo_elf_state;

struct kymo_section_cache;

typedef struct kymo_elf_file {
    int fd;                                 /* -1: an image */
    kymo_elf_state state;                   /* when it was opened; not of an image */
    const struct kymo_section_cache *cache; /* of its compressed sections; borrowed; NULL: none */
    const unsigned char *image;             /* borrowed */
    uint64_t size;
    uint16_t type; /* ET_EXEC, ET_DYN, ... */
    uint16_t machine;
    uint64_t entry;             /* address at which a program begins; 0: none */
    kymo_elf_section *sections; /* n_sections; [0] is the null section */
    size_t n_sections;
    char *names; /* section names */
    Elf64_Phdr *segments;
    size_t n_segments;
    unsigned char build_id[KYMO_BUILD_ID_CAP];
    size_t build_id_len; /* 0: it has none */
    bool hides_build_id; /* no segment has it, so it is not known of what is mapped (Go's linker) */
} kymo_elf_file;

/* Errors: KYMO_E_NOT_FOUND, KYMO_E_PERMISSION, KYMO_E_IO, KYMO_E_CORRUPT, KYMO_E_UNSUPPORTED,
 * KYMO_E_NOMEM. *out goes to kymo_elf_close. */
KYMO_NODISCARD
kymo_err kymo_elf_open(const char *path, kymo_elf_file **out);
/* The image must outlive the file. */
KYMO_NODISCARD
kymo_err kymo_elf_open_image(const void *image, size_t size, kymo_elf_file **out);
/* NULL is allowed. */
void kymo_elf_close(kymo_elf_file *file);
/* Whether its build-id is this one. */
bool kymo_elf_has_id(const kymo_elf_file *file, const unsigned char *id, size_t len);

/* The first section of that name with bytes in the file, or NULL. ".debug_x" also finds
 * ".zdebug_x". */
kymo_elf_section *kymo_elf_find(kymo_elf_file *file, const char *name);
kymo_elf_section *kymo_elf_find_type(kymo_elf_file *file, uint32_t type);
/* The section that the link field of a symbol or relocation table names, or NULL. */
kymo_elf_section *kymo_elf_section_at(kymo_elf_file *file, uint64_t index);

/* Copies size bytes at a file offset. KYMO_E_TRUNCATED if there are fewer. */
KYMO_NODISCARD
kymo_err kymo_elf_read_at(const kymo_elf_file *file, uint64_t offset, void *out, size_t size);

/* Whether vaddr is code: in a section with SHF_EXECINSTR or, in a file without sections, in an
 * executable segment. */
bool kymo_elf_is_code(const kymo_elf_file *file, uint64_t address);

/* The whole content, decompressed; valid until there were as many unloads as loads, or until
 * close: a hostile file may use one section twice. A byte 0 follows the content, so text in it
 * is always terminated. Errors: KYMO_E_CORRUPT, KYMO_E_UNSUPPORTED (an unknown compression),
 * KYMO_E_TOO_BIG, KYMO_E_IO, KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_elf_load(kymo_elf_file *file, kymo_elf_section *section, kymo_span *out);
/* The same without reading: *out is empty. kymo_elf_load_to extends it. */
KYMO_NODISCARD
kymo_err kymo_elf_load_begin(kymo_elf_file *file, kymo_elf_section *section, kymo_span *out);
/* Extends a loaded section to at least its bytes [0, end), or all if there are fewer. Its bytes
 * do not move. After an error *out has what could be read; further calls return the error again. */
KYMO_NODISCARD
kymo_err kymo_elf_load_to(kymo_elf_file *file, kymo_elf_section *section, uint64_t end,
                          kymo_span *out);
/* Reads at least the bytes [begin, end) of a loaded section; of one that is compressed, and not in
 * the cache, all before them, too. KYMO_E_TRUNCATED: it is shorter; else as kymo_elf_load_to. */
KYMO_NODISCARD
kymo_err kymo_elf_load_part(kymo_elf_file *file, kymo_elf_section *section, uint64_t begin,
                            uint64_t end);
/* Where the bytes of a loaded section are, or will be, and how many it says that it has. */
kymo_span kymo_elf_extent(const kymo_elf_section *section);
void kymo_elf_unload(kymo_elf_section *section);

/* For elf_file.c. */
void kymo_elf_content_free(struct kymo_elf_content **content);

#endif
