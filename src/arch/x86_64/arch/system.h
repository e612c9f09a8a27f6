/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system.h - what Linux, ELF and distributions call this machine, and how it lays out memory.
 *
 * Layer:    arch
 * Flow:     [system] -> checks of programs and files, bounds of addresses
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 */
#ifndef KYMO_ARCH_SYSTEM_H
#define KYMO_ARCH_SYSTEM_H

#include <elf.h>
#include <linux/audit.h>

/* ---- names ---- */

#define KYMO_ARCH_NAME "x86-64"                        /* in messages */
#define KYMO_ARCH_UNAME "x86_64"                       /* as uname says it */
#define KYMO_ARCH_TRIPLET "x86_64-linux-gnu"           /* Debian's folder of libraries */
#define KYMO_ARCH_LOADER "/lib64/ld-linux-x86-64.so.2" /* glibc's */
#define KYMO_ARCH_AUDIT AUDIT_ARCH_X86_64              /* what a seccomp filter is told */

/* ---- ELF files ---- */

#define KYMO_ELF_MACHINE EM_X86_64
/* Relocations that fill a slot which code calls or jumps through: with a function's address at its
 * first call, at load, and with what a resolver gives. */
#define KYMO_RELOCATION_JUMP_SLOT R_X86_64_JUMP_SLOT
#define KYMO_RELOCATION_GLOB_DAT R_X86_64_GLOB_DAT
#define KYMO_RELOCATION_IRELATIVE R_X86_64_IRELATIVE

/* ---- memory ---- */

#define KYMO_ARCH_PAGE_BYTES 4096u
#define KYMO_ADDRESS_BITS 47u /* of a user address */
/* Below this there is no code; above, no user address. */
#define KYMO_CODE_LOWEST 0x1000ull
#define KYMO_CODE_HIGHEST ((1ull << KYMO_ADDRESS_BITS) - 1)
/* A leaf function may keep data this far below its stack pointer. */
#define KYMO_RED_ZONE_BYTES 128u

#endif
