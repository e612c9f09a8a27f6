/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident.h - what a process has in memory at one moment, and whose it is, as far as that can be
 * seen from outside.
 *
 * Layer:    observe
 * Flow:     memory/smaps.c, memory/pagemap.c -> [resident] -> ledger.c
 * Threads:  the recorder's one thread
 * Memory:   owned; kymo_resident_deinit frees it
 * Signals:  not for handlers
 *
 * Each page belongs to one: to the line of the ledger that its area's kind tells (files, shared
 * memory, stacks, ourselves), or to a piece. Pieces are memory of the process's own, and whose each
 * of them is, the program's or its allocator's, and how much of it is in allocations that live, the
 * reader of the recording finds, who has all of these. Lines and pieces add up to what smaps says,
 * to the byte.
 *
 * A piece is as long as its pages are equally many in each GRANULE, so that a reader can tell what
 * of a mapping or an allocation in it is there; where nothing is, there is a piece, too: one that
 * is next to another is of the same area.
 */
#ifndef KYMO_OBSERVE_RESIDENT_H
#define KYMO_OBSERVE_RESIDENT_H

#include "base/arena.h"
#include "base/vec.h"
#include "memory/smaps.h"
#include "recording/events_heap.h"

#define KYMO_RESIDENT_PIECES_MAX 16384u
/* Of the files, and shared memory, with names of their own. */
#define KYMO_RESIDENT_NAMES 16u

/* A part of the address space whose owner is known; from the caller. */
struct kymo_resident_claim {
    uint64_t lo, hi; /* multiples of a page */
    uint32_t line;
    uint32_t is_over; /* a thread's that has ended: its stack may be something else by now */
};

struct kymo_resident_named {
    uint32_t line;
    uint64_t bytes;
    const char *name;
};

struct kymo_resident_piece {
    uint64_t lo, hi, bytes;
    uint32_t is_heap; /* the kernel calls it so: what brk gave */
};

/* Memory of the process's own, while areas come. */
struct kymo_resident_area {
    uint64_t lo, hi, bytes;
    uint64_t data_hi; /* up to there it is the data of the library before it; lo: nothing is */
    uint32_t data_line;
    uint32_t is_heap;
    uint32_t has_guard; /* the pages before it can be neither read nor written */
};

struct kymo_resident {
    uint64_t lines[KYMO_LEDGER_LINES];           /* bytes */
    KYMO_VEC(struct kymo_resident_named) named;  /* the largest of each line first */
    KYMO_VEC(struct kymo_resident_piece) pieces; /* by address */
    /* private */
    kymo_arena names;
    KYMO_VEC(struct kymo_resident_area) areas;
    struct kymo_smaps_area before; /* the last one that came */
    uint32_t before_line;          /* 0: a piece's */
    int memory;                    /* the process's own; -1: not to be read */
    uint64_t file_lo, file_inode;  /* where the last file's areas begin */
};

/* claims: by address, without overlaps. *out is empty or an earlier result; after an error, it is
 * empty. KYMO_E_IO: the process has ended, or may not be looked at. */
KYMO_NODISCARD
kymo_err kymo_resident_look(struct kymo_resident *out, const char *root, const char *process,
                            const struct kymo_resident_claim *claims, size_t claim_count);
void kymo_resident_deinit(struct kymo_resident *resident);

#endif
