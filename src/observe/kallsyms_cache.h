/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kallsyms_cache.h - keeps the kernel's symbols of this boot in a file of the user's.
 *
 * Layer:    observe; beside kallsyms.h
 * Flow:     /proc/kallsyms -> kallsyms.c <-> [cache] <-> $XDG_CACHE_HOME/kymo/kallsyms
 * Threads:  any; files are replaced by rename
 * Memory:   the caller owns the table that comes out
 * Signals:  not for handlers
 *
 * The kernel takes some 60 ms to print its 120 000 symbols, however they are read. They stay the
 * same until it is started anew, or modules are loaded.
 */
#ifndef KYMO_OBSERVE_KALLSYMS_CACHE_H
#define KYMO_OBSERVE_KALLSYMS_CACHE_H

#include "observe/kallsyms.h"

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
