/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_copies.h - CPU samples that the kernel takes alone: it copies the thread's registers and
 * the end of its stack into a ring, and the recorder walks the copy.
 *
 * Layer:    observe
 * Flow:     perf_event.h -> perf_ring.h -> stack_copy.c -> [stack_copies] -> session_events.c
 * Threads:  the recorder's main thread
 * Memory:   owns the rings of its process; all of a recording have one limit
 * Signals:  not for handlers
 *
 * Nothing runs in the program: no signal, no handler, no call that ends with EINTR. That is half of
 * what a sample costs else (doc/design.md, section 5). What only a handler can tell has none of
 * this: Python's frames, the labels of a thread that has left by longjmp, code that is made at run
 * time, stacks that are larger than the copy.
 */
#ifndef KYMO_OBSERVE_STACK_COPIES_H
#define KYMO_OBSERVE_STACK_COPIES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/registers.h"
#include "base/error.h"
#include "buffer/session.h"
#include "observe/kernel_stacks.h"
#include "observe/perf_ring.h"
#include "observe/remote.h"
#include "observe/task.h"
#include "recording/events.h"
#include "symbolize/jit_code.h"

/* ---- stack_copy.c: one record of an event of kymo_perf_open_copies ---- */

/* Pointers are into the record. */
struct kymo_stack_copy {
    uint64_t cpu_ns; /* of the thread, since the event was enabled */
    struct kymo_kernel_record kernel;
    int has_user; /* 0: the thread has no user's part any more; the rest is not set */
    struct kymo_regs regs;
    const unsigned char *stack; /* from its stack pointer up */
    size_t stack_bytes;         /* that could be read */
    size_t asked_bytes;
    const unsigned char *chain; /* what frame pointers led to: words, the pc first, then returns */
    size_t chain_count;         /* 0: it was not asked for */
};

/* Returns 0 if the record is none of these, or is cut. */
int kymo_stack_copy_parse(const struct kymo_perf_record *record, struct kymo_stack_copy *copy);

/* Adds what the record's chain has behind the last two of the n pcs that a walk of it has found, up
 * to max. Returns how many there are then. */
size_t kymo_stack_copy_join_chain(const struct kymo_stack_copy *copy, uint64_t *pcs, size_t n,
                                  size_t max);

/* ---- stack_copies.c ---- */

/* What the processes of a recording share: memory for rings, unwind information, and how much of
 * their stacks programs use. */
typedef struct kymo_copy_budget kymo_copy_budget;

KYMO_NODISCARD
kymo_err kymo_copy_budget_create(kymo_copy_budget **out);
/* NULL is allowed. */
void kymo_copy_budget_destroy(kymo_copy_budget *budget);
#define KYMO_COPY_MOST (60u << 10) /* the kernel's records have 16 bits for their size */

/* How many bytes of a stack are to be copied, of which a thread of this program has used used_bytes
 * so far; 0: more than KYMO_COPY_MOST. */
uint32_t kymo_copy_budget_bytes(const kymo_copy_budget *budget, const struct kymo_task_exe *exe,
                                uint64_t used_bytes);

/* Whether a process of this program was sampled by copies, and none has shown that it needs a
 * handler. */
int kymo_copy_budget_has(const kymo_copy_budget *budget, const struct kymo_task_exe *exe);

/* One process. */
typedef struct kymo_stack_copies kymo_stack_copies;

struct kymo_copied_thread {
    uint32_t number; /* the caller's */
    int event;       /* of kymo_perf_open_copies; the caller keeps it */
    uint32_t copy_bytes;
    uint64_t period_ns;
    uint64_t stack_begin; /* above the thread's outermost frame; 0: not known */
};

struct kymo_copied_sample {
    uint32_t thread; /* its number */
    uint64_t time_ns, weight_ns;
    uint32_t stack;
    int is_first; /* since the event was opened */
};

struct kymo_stack_copies_config {
    kymo_copy_budget *budget;
    kymo_kernel_stacks *kernel_stacks;
    struct kymo_session *session;
    pid_t pid;
    const struct kymo_task_exe *exe;
    uint32_t process; /* in the recording */
    kymo_jit_code *jit;
    int is_alone; /* no handler of ours is in the process: copies are all that there can be */
    const kymo_event_handler *events; /* gets modules and stacks */
    void *events_context;
    kymo_err (*sample)(void *context, const struct kymo_copied_sample *sample);
    int (*runs_on)(void *context); /* whether the process still runs the same image */
    void *context;
};

KYMO_NODISCARD
kymo_err kymo_stack_copies_create(const struct kymo_stack_copies_config *config,
                                  kymo_stack_copies **out);
/* Reads what the process has mapped, unless that was done; it may end meanwhile. Without it samples
 * have no stacks. KYMO_E_PERMISSION: that may not be read. */
KYMO_NODISCARD
kymo_err kymo_stack_copies_note_modules(kymo_stack_copies *copies);
/* It has mapped more since. */
void kymo_stack_copies_renew_modules(kymo_stack_copies *copies);
/* NULL is allowed here and below. What is still in the rings is dropped. */
void kymo_stack_copies_destroy(kymo_stack_copies *copies);

/* Takes the samples of this thread's event, which is not enabled yet, from now on. Returns 0 where
 * there is no ring for it. */
int kymo_stack_copies_open(kymo_stack_copies *copies, const struct kymo_copied_thread *thread);
/* Gives on what the rings have. */
KYMO_NODISCARD
kymo_err kymo_stack_copies_read(kymo_stack_copies *copies);
/* The same for one thread, the last time; nothing for one that has no ring. */
KYMO_NODISCARD
kymo_err kymo_stack_copies_close(kymo_stack_copies *copies, uint32_t thread);
/* Whether the process needs a handler to be sampled well. That never changes back. */
int kymo_stack_copies_are_unfit(const kymo_stack_copies *copies);
/* Whether a stack of the thread was longer than its copy: it needs a handler, or longer ones. */
int kymo_stack_copies_are_short(const kymo_stack_copies *copies, uint32_t thread);
/* What was mapped is not known any more: samples have no stacks from now on. */
void kymo_stack_copies_forget_modules(kymo_stack_copies *copies);
/* Samples that found no room in a ring. */
uint64_t kymo_stack_copies_lost(const kymo_stack_copies *copies);

#endif
