/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_target.h - what an executable is, as far as it decides whether we can be preloaded into it.
 *
 * Layer:    sys; above base
 * Flow:     file -> [elf_target] -> launch/precheck.c, capture/exec_target.c
 * Threads:  any
 * Memory:   never allocates; reads with pread, 2 KiB at a time, so that a file of any size, or one
 *           that shrinks while it is read, costs nothing but time linear in its dynamic strings
 * Signals:  safe with detail NULL: raw system calls, and about 2.5 KiB of stack
 */
#ifndef KYMO_SYS_ELF_TARGET_H
#define KYMO_SYS_ELF_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct kymo_elf_target {
    uint8_t elf_class;     /* ELFCLASS32 or ELFCLASS64; of the former nothing else is read */
    uint8_t big_endian;    /* likewise */
    uint16_t machine;      /* EM_* */
    uint16_t type;         /* ET_EXEC or ET_DYN, or what cannot be executed */
    uint8_t has_interp;    /* there is a PT_INTERP */
    uint8_t has_asan;      /* needs, or contains, AddressSanitizer's runtime */
    uint8_t has_tsan;      /* the same of ThreadSanitizer's */
    uint8_t needs_libc;    /* names libc among the libraries it needs */
    char interpreter[256]; /* the content of PT_INTERP, "" without one */
} kymo_elf_target;

/* Reads the file at fd, any position. KYMO_E_UNSUPPORTED: not an ELF file; KYMO_E_CORRUPT: one
 * that no loader would take; KYMO_E_IO. detail may be NULL. */
KYMO_NODISCARD
kymo_err kymo_elf_target_read(int fd, kymo_elf_target *out, kymo_error *detail);

/* The build-id of the ELF file at fd: its length, at most 64 bytes, in *len. KYMO_E_NOT_FOUND: it
 * has none; KYMO_E_UNSUPPORTED: not a 64-bit little-endian ELF file. */
KYMO_NODISCARD
kymo_err kymo_elf_target_build_id(int fd, uint8_t out[64], size_t *len);

/* Whether Go's linker made the ELF file at fd: it has the note that tells Go's build. */
int kymo_elf_target_is_go(int fd);
/* Whether it has a table of all its symbols, which strip takes away. */
int kymo_elf_target_has_symbols(int fd);

#endif
