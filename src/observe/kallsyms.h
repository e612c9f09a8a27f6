/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kallsyms.h - names for addresses of the kernel, from /proc/kallsyms.
 *
 * Layer:    observe
 * Flow:     /proc/kallsyms -> [kallsyms] -> kernel_stacks.c
 * Threads:  one owner at a time
 * Memory:   owns the text it was given; names point into it
 * Signals:  not for handlers
 *
 * The kernel lies at another address after each start of the machine (KASLR), and that address must
 * stay secret: the addresses returned here are relative to the beginning of the kernel, or of the
 * module.
 */
#ifndef KYMO_OBSERVE_KALLSYMS_H
#define KYMO_OBSERVE_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

/* The kernel itself, as perf and pprof name it; modules are "[name]". */
#define KYMO_KERNEL_NAME "[kernel.kallsyms]"

typedef struct kymo_kallsyms kymo_kallsyms;

struct kymo_kallsym {
    uint32_t number;    /* of the symbol, from 0; less than kymo_kallsyms_count */
    uint64_t address;   /* from the beginning of its module */
    uint64_t offset;    /* of what was asked for, in the symbol */
    const char *name;   /* live as long as the table */
    const char *module; /* KYMO_KERNEL_NAME or "[name]" */
};

/* Whether names can be read: they cannot where kptr_restrict hides the addresses. Reads the
 * beginning of the file only. */
int kymo_kallsyms_is_readable(void);

/* Reads /proc/kallsyms, which takes a tenth of a second. KYMO_E_NOT_FOUND: no names. */
KYMO_NODISCARD
kymo_err kymo_kallsyms_read(kymo_kallsyms **out);
/* The same from len bytes of text, of any content. */
KYMO_NODISCARD
kymo_err kymo_kallsyms_parse(const char *text, size_t len, kymo_kallsyms **out);
/* NULL is allowed. */
void kymo_kallsyms_destroy(kymo_kallsyms *table);

size_t kymo_kallsyms_count(const kymo_kallsyms *table);
enum kymo_kallsym_answer {
    KYMO_KALLSYM_NONE, /* it lies in no function that is known */
    KYMO_KALLSYM_FOUND,
    KYMO_KALLSYM_UNCERTAIN, /* of a table that was unpacked: /proc/kallsyms may know more */
};

/* The function that address lies in. */
enum kymo_kallsym_answer kymo_kallsyms_find(const kymo_kallsyms *table, uint64_t address,
                                            struct kymo_kallsym *out);

/* The table as bytes, which hold the key, and back (kallsyms_pack.c). What comes and goes (BPF
 * programs, trampolines) is left out. unpack: bytes of any content; on success it takes them over,
 * and they are empty. KYMO_E_NOT_FOUND: of another key; KYMO_E_CORRUPT. */
KYMO_NODISCARD
kymo_err kymo_kallsyms_pack(const kymo_kallsyms *table, uint64_t key, kymo_bytes *out);
KYMO_NODISCARD
kymo_err kymo_kallsyms_unpack(kymo_bytes *bytes, uint64_t key, kymo_kallsyms **out);

/* ---- kallsyms_cache.c: keeps the kernel's symbols of this boot in a file of the user's ----
 *
 * The kernel takes some 60 ms to print its 120 000 symbols, however they are read. They stay the
 * same until it is started anew, or modules are loaded.
 */

/* The table of this kernel, from the cache if there is one for it, else from /proc/kallsyms; then
 * the cache is written, if it can be. Errors: as of kymo_kallsyms_read. */
KYMO_NODISCARD
kymo_err kymo_kallsyms_get(kymo_kallsyms **out);

/* What tells kernels, and what is loaded into them, apart: a hash of boot_id, the version and the
 * list of modules with their addresses. 0: not known, and nothing is cached. Both texts may have
 * any content. */
uint64_t kymo_kallsyms_key(const char *boot_id, const char *modules);

/* The same as kymo_kallsyms_get in this folder, for this key, and only the cache: for tests.
 * KYMO_E_NOT_FOUND: there is none of ours for this key; else as of kymo_kallsyms_unpack. */
KYMO_NODISCARD
kymo_err kymo_kallsyms_cache_load(int folder, uint64_t key, kymo_kallsyms **out);
KYMO_NODISCARD
kymo_err kymo_kallsyms_cache_save(int folder, uint64_t key, const kymo_kallsyms *table);

#endif
