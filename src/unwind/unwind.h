/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.h - the call stack of the running thread, walked inside a signal handler.
 *
 * Layer:    unwind; above base
 * Flow:     capture/on_signal.c -> [walk] -> stack depot
 * Threads:  one walker for the whole process; any number of threads walk with it at once
 * Memory:   the caller owns the walker, its cache and the pcs; a walk allocates nothing
 * Signals:  everything marked KYMO_SIGNAL_SAFE; the rest is for start() and the loader's hooks
 *
 * A row says how to get from a frame to its caller at one pc. It is looked for in the pc cache,
 * then in the row tables that were published for the module, then in the module's own .eh_frame,
 * which is interpreted on the spot. Where a module has no row for a pc, or the pc lies in no module
 * (code that was made at run time), one step by the frame pointer is tried, and the walk says so.
 *
 * A walk takes no lock, and makes no system call but the page probe (unwind/stack_window.h), on
 * stacks whose bounds it does not know. Registers and stacks may hold anything at all.
 */
#ifndef KYMO_UNWIND_UNWIND_H
#define KYMO_UNWIND_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"
#include "base/atomic.h"
#include "base/error.h"

/* A thread's own stack [lo, hi); 0, 0 when it is not known. */
struct kymo_stack_bounds {
    uint64_t lo;
    uint64_t hi;
};

/* Why a walk ended. */
enum kymo_walk_end {
    KYMO_WALK_COMPLETE,    /* the outermost frame: its return address is undefined or 0, or it is
                            * the entry code of the program or of ld.so */
    KYMO_WALK_DEPTH,       /* max frames were found and there are more */
    KYMO_WALK_NO_ROW,      /* a module has nothing to say about this pc, nor have its code and the
                            * frame pointer */
    KYMO_WALK_BAD_STACK,   /* the next frame would lie in memory that may not be read, or not above
                            * this one */
    KYMO_WALK_NO_MODULE,   /* the pc lies in no module; frame pointer and code do not help */
    KYMO_WALK_UNSUPPORTED, /* the module's unwind information is broken or uses what we do not do */
    KYMO_WALK_END_COUNT
};

/* Notes on how a walk went (a mask). */
enum {
    KYMO_WALK_BY_FRAME_POINTER = 1u << 0, /* at least one step was guessed by the frame pointer */
    KYMO_WALK_BY_SIGNAL_FRAME = 1u << 1,  /* a handler's frame was crossed */
    KYMO_WALK_BY_INTERPRETER = 1u << 2,   /* at least one .eh_frame entry was interpreted */
    KYMO_WALK_BY_PROBE = 1u << 3,      /* some page was probed: the stack is not the thread's own */
    KYMO_WALK_PROBE_REFUSED = 1u << 4, /* a page would have been probed, but that is not allowed */
    KYMO_WALK_CLOSING_REFUSED = 1u << 5, /* a module that may be going away was not interpreted */
    KYMO_WALK_IN_GAP = 1u << 6, /* a module says nothing about a pc, nor does its code (that of
                                 * other processes is not read) */
    /* From outside: a gap ended the walk where the frame pointer is 0. By the ABI that marks the
     * outermost frame; others may use the register for something else. */
    KYMO_WALK_AT_ZERO = 1u << 7,
};

/* Options of one walk (a mask). */
enum {
    /* Another thread is inside dlclose: only modules that were there at start may be interpreted.
     */
    KYMO_WALK_WHILE_CLOSING = 1u << 0,
};

/* Signal frames of one walk whose interrupted frame is remembered; more are rare enough. */
#define KYMO_WALK_EXACT_MAX 4u

struct kymo_walk_result {
    enum kymo_walk_end end;
    uint32_t notes;
    /* Of a walk from outside: the first address that its copy lacked, 0 for none; where it ended
     * for want of a register or a row, the stack pointer of its last frame. */
    uint64_t missing;
    /* Indices in pcs of what lies behind a signal frame: places that were interrupted, like the
     * first one, and not return addresses. */
    uint32_t exact_count;
    uint32_t exact[KYMO_WALK_EXACT_MAX];
};

/* One entry of the pc cache. key = pc ^ hash(row) ^ hash(generation), so that an entry that was
 * torn by two writers, or that is of another generation, is simply a miss. */
struct kymo_row_slot {
    uint64_t key;
    uint64_t row; /* arch/row.h */
};

#define KYMO_ROW_CACHE_SLOTS 4096u /* 64 KiB: what callers give by default */
#define KYMO_WALKER_STABLE_MAX 256u
#define KYMO_WALKER_TABLES_MAX 64u

struct kymo_address_range {
    uint64_t lo;
    uint64_t hi;
};

/* A published row table. sequence is odd while the slot is being written, and its readers look
 * twice (a seqlock with one writer at a time). */
struct kymo_walker_table {
    uint32_t sequence;
    uint32_t live;
    struct kymo_address_range range; /* of the module, as mapped */
    uint64_t base;                   /* address that the table's offsets count from */
    const void *data;                /* unwind/row_table.h */
    uint64_t size;
};

struct kymo_outside;

struct kymo_walker {
    const struct kymo_outside *outside; /* unwind/module.h; NULL: walks of the calling thread */
    struct kymo_row_slot *cache;        /* a power of two of slots; NULL: no cache */
    uint32_t cache_mask;                /* slots - 1 */
    uint32_t generation;                /* kymo_walker_new_generation() */
    uint32_t probe_allowed;             /* written at any time; 1 after init */
    uint32_t has_trampolines; /* 1: code in no module may be CPython's (step_trampoline) */
    uint32_t tables;          /* number of slots of table[] ever used */
    uint32_t stable_count;
    /* Code that begins the program and ld.so: frames there have no caller. */
    struct kymo_address_range entry[2];
    /* The same for what makecontext makes: the C library's code that a coroutine returns to. */
    struct kymo_address_range coroutine_entry;
    struct kymo_address_range stable[KYMO_WALKER_STABLE_MAX]; /* sorted */
    struct kymo_walker_table table[KYMO_WALKER_TABLES_MAX];
};

/* Makes a walker of zero bytes, with the given pc cache: slots (a power of two from 2 on, or 0 for
 * none) of zeroed memory that lives as long as the walker. Not for handlers. KYMO_E_INVALID: slots
 * is not such a number.
 */
KYMO_NODISCARD
kymo_err kymo_walker_init(struct kymo_walker *walker, struct kymo_row_slot *cache, size_t slots);

/* For walks of another process: where its program and its loader begin; 0: not known. */
void kymo_walker_set_entries(struct kymo_walker *walker, uint64_t program, uint64_t loader);

/* Notes which modules are loaded now and can never go away (those of program start): they may be
 * interpreted while another thread is inside dlclose. Takes the loader's lock: call it at start
 * only, from a constructor or main; not for handlers. More than KYMO_WALKER_STABLE_MAX modules: the
 * rest are treated as ones that may go away. */
void kymo_walker_init_stable(struct kymo_walker *walker);

/* Forgets all cached rows. To be called both before and after the real dlclose, with walks of other
 * threads given KYMO_WALK_WHILE_CLOSING in between: rows of the dying module that are cached
 * between the two calls die with the second. A walk that began before the first call may still read
 * the module; the hook must wait for it before the real dlclose. Any thread; lock-free. */
KYMO_SIGNAL_SAFE static inline void kymo_walker_new_generation(struct kymo_walker *walker)
{
    kymo_add_acq_rel(&walker->generation, 1u);
}

/* Publishes a row table for the module that is mapped at range: offsets in the table count from
 * base (load bias + kymo_row_table_base()). data is checked here once, and stays the caller's: it
 * must stay mapped, until it has been dropped and no walk can be running that began before that.
 * One thread at a time. KYMO_E_CORRUPT: not a row table; KYMO_E_TOO_BIG: no free slot. */
KYMO_SIGNAL_SAFE KYMO_NODISCARD
kymo_err kymo_walker_table_add(struct kymo_walker *walker, struct kymo_address_range range,
                               uint64_t base, const void *data, size_t size);
/* Withdraws the tables of modules that overlap range (the module is about to be unloaded).
 * One thread at a time, the same as for add. */
void kymo_walker_table_drop(struct kymo_walker *walker, struct kymo_address_range range);

/* Walks the stack of the calling thread from *regs (in a handler: those of its ucontext) and fills
 * pcs: first the pc itself, then return addresses, not adjusted. Returns their number, at least 1
 * if max is; result (not NULL) says how it ended. *regs is scratch and is overwritten. stack:
 * bounds of the thread's own stack; NULL or 0, 0: not known, every page is probed. */
KYMO_SIGNAL_SAFE size_t kymo_unwind_walk(struct kymo_walker *walker, struct kymo_regs *regs,
                                         const struct kymo_stack_bounds *stack, uint64_t *pcs,
                                         size_t max, uint32_t options,
                                         struct kymo_walk_result *result);

/* The same; sps (not NULL) gets the stack pointer of each frame, as it is at its pc: the frame lies
 * from there up to the stack pointer of its caller. */
KYMO_SIGNAL_SAFE size_t kymo_unwind_walk_with_sps(
    struct kymo_walker *walker, struct kymo_regs *regs, const struct kymo_stack_bounds *stack,
    uint64_t *pcs, uint64_t *sps, size_t max, uint32_t options, struct kymo_walk_result *result);

/* A word for an end, as in reports: "complete", "no row", ... */
const char *kymo_walk_end_name(enum kymo_walk_end end);

#endif
