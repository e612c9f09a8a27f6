/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h - finds the row of a pc in the module that is loaded there.
 *
 * Layer:    unwind; above base
 * Flow:     glibc's _dl_find_object -> ELF header in memory -> cfi.c -> [module] -> unwind.c;
 *           of another process: struct kymo_outside -> cfi.c -> [module] -> unwind.c
 * Threads:  any
 * Signals:  safe; _dl_find_object takes no lock (glibc >= 2.35)
 */
#ifndef KYMO_UNWIND_MODULE_H
#define KYMO_UNWIND_MODULE_H

#include "base/attr.h"
#include "unwind/cfi.h"

struct kymo_row_slot;

#define KYMO_OUTSIDE_ROWS 8192u

/* A module of another process. images: its segments, or parts of them, that hold .eh_frame_hdr
 * and .eh_frame; their addresses are those of the other process. rows: KYMO_OUTSIDE_ROWS slots,
 * zero at first, that all modules of the same file may share, by addresses less the bias; NULL:
 * none. */
struct kymo_outside_module {
    uint64_t map_start;
    uint64_t map_end;
    uint64_t eh_frame_hdr; /* 0: it has none */
    const struct kymo_cfi_image *images;
    uint32_t image_count;
    struct kymo_row_slot *rows;
    uint64_t bias;
};

/* What a walk of another process's stack reads instead of its own memory; observe/remote.c fills it
 * and owns it, and handlers have none. The walk is the same one. It starts with the registers that
 * are known: of a thread that waits in a system call /proc tells the stack pointer and the pc, and
 * no others. Where a frame needs one that no frame below it has saved, the walk ends with
 * KYMO_WALK_UNSUPPORTED. */
struct kymo_outside {
    const struct kymo_outside_module *modules; /* sorted, without overlaps */
    uint32_t count;
    uint32_t
        known; /* mask of registers by DWARF number, whose values are those of the walk's regs */
    const uint8_t *copy; /* of the stack at [lo, hi) */
    uint64_t lo;
    uint64_t hi;
    /* Eight bytes of code; false: they cannot be read. NULL: none can. */
    bool (*read_code)(void *context, uint64_t address, uint64_t *word);
    void *context;
};

struct link_map;

struct kymo_unwind_module {
    uint64_t map_start; /* of all its segments, also where there are holes between them */
    uint64_t map_end;
    uint64_t eh_frame_hdr;                     /* 0: the module has none */
    const struct link_map *link_map;           /* freed when the module goes away */
    const struct kymo_outside_module *outside; /* NULL: it is loaded here */
    bool may_probe; /* of one here: system calls may find out what of it can be read */
};

/* Says where the program itself lies, from its first segment to the end of its last. Once, before
 * the first look-up; not for handlers. */
void kymo_module_program(uint64_t lo, uint64_t hi);

/* False if no module is loaded at pc: here, or, if outside is not NULL, there. */
KYMO_SIGNAL_SAFE bool kymo_module_find(const struct kymo_outside *outside, uint64_t pc,
                                       struct kymo_unwind_module *module);

/* Interprets the module's .eh_frame for pc. FOUND: *word is the packed row; if that is
 * KYMO_ROW_INTERPRET, row, image and signal_frame hold it unpacked. NOT_FOUND: the module says
 * nothing about this pc. */
KYMO_SIGNAL_SAFE enum kymo_cfi_status kymo_module_row(const struct kymo_unwind_module *module,
                                                      uint64_t pc, uint64_t *word,
                                                      struct kymo_cfi_row *row, bool *signal_frame,
                                                      struct kymo_cfi_image *image);

#endif
