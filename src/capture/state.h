/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what the hot half knows of this process and of each of its threads.
 *
 * Layer:    capture
 * Threads:  a kymo_thread is written by its own thread (and its handler); kymo_process by start,
 *           and by the hooks as its fields say
 * Memory:   mapped before start, MADV_WIPEONFORK: in a forked child all of it reads as zeros, so
 *           every pointer here is NULL there and every hook and handler passes through
 * Signals:  reading is safe
 */
#ifndef KYMO_CAPTURE_STATE_H
#define KYMO_CAPTURE_STATE_H

#include <signal.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/attr.h"
#include "buffer/call_units.h"
#include "buffer/definition.h"
#include "buffer/python_task.h"
#include "buffer/session.h"
#include "buffer/stream.h"
#include "buffer/table_area.h"
#include "capture/thread_pointer.h"
#include "sys/clock.h"
#include "sys/raw.h"
#include "unwind/python_walk.h"
#include "unwind/unwind.h"
#include "unwind/walk_repeat.h"

/* What sigaltstack was told. */
struct kymo_alternate_stack {
    uint64_t lo, bytes; /* 0 bytes: there is none */
};

/* A stack that was taken, and how to know that it is the same again (take_stack.h). */
struct kymo_stack_repeat {
    struct kymo_walk_notes notes;
    uint32_t id, epoch; /* of the depot */
    uint32_t modules;   /* their generation */
    uint32_t unfit;     /* id of one that cannot be noted */
};

#define KYMO_STACK_REPEATS 8u /* of a thread; a power of two */

/* So many labels of blocks of a thread, the outermost, are known to be left by a longjmp. */
#define KYMO_LABEL_BLOCKS 32u

/* Where a label of a block was pushed. */
struct kymo_label_block {
    uint32_t frame; /* of the block's function, from the stack's low end; 0: not of a block */
    uint32_t from;  /* the address behind the call, its lower half */
};

struct kymo_capture_thread {
    struct kymo_capture_process *process; /* NULL: not capturing (forked child, thread has ended) */
    struct kymo_thread_slot *slot;        /* in the session */
    uint32_t number;                      /* of the slot */
    uint32_t tid;
    /* process->mark_epoch << 16. 0: nothing can be marked, as in a forked child, whose copy of this
     * is wiped. */
    uint32_t mark_epoch;
    uint32_t open_scopes;           /* that have begun and not ended */
    struct kymo_open_scope *scopes; /* the outermost KYMO_OPEN_SCOPES of them, in the session */
    uint32_t labels;                /* that are set, how deep */
    uint32_t labels_owed;           /* 1: some are gone, and no record says so */
    uint64_t marks;                 /* that were recorded, also by earlier threads in this slot */
    struct kymo_stream_writer streams[KYMO_STREAMS] __attribute__((aligned(64)));
    /* Of a tracer (trace.c): the turn in which it is at work in this thread (0: it is not), and how
     * many events found no room since the last one that did. */
    uint32_t traced_in, calls_missing;
    /* Of its last event, a call that may be taken back; 0: there is none. */
    uint32_t call_held_bytes;
    struct kymo_call_place call_place, call_place_before; /* behind its last event; before it */
    /* 0 while the clock of records is the time-stamp counter, and may be read. */
    const uint32_t *other_clock;
    uint64_t *pcs;         /* process->depth of them, for the handler */
    struct kymo_regs regs; /* the same; not on the stack, which may be a small one */
    uint32_t closing;      /* depth of our dlclose hook on this thread */
    uint32_t exits;        /* rounds of thread-specific destructors seen */
    uint32_t handling;     /* 1: our handler is at work, and may make system calls */
    struct kymo_stack_bounds stack;
    struct kymo_alternate_stack alternate; /* the program's; it may lie within stack */
    uint64_t last_cpu_ns;
    uint64_t copied_ns;     /* of slot->copied_ns, what is in last_cpu_ns */
    uint64_t before_cpu_ns; /* what it had used when it began, in a process that began late */
    int timer_failed;       /* once, and so not tried at each sample again */
    int32_t timer;          /* kernel id; valid while slot->timer_on */
    int timer_signal;       /* that it raises */
    uint64_t timer_period_ns;
    uint32_t timer_lock; /* 1: it is being made or deleted; no thread waits for that */
    /* What pthread_create or thrd_create was asked to run. */
    void *start; /* a function; its type is known to the hook that set it */
    void *argument;
    uint64_t stack_bytes;
    /* Of allocations (alloc.h), whose stacks are taken beside the handler's. */
    uint64_t *alloc_pcs;
    struct kymo_stack_repeat *repeats; /* KYMO_STACK_REPEATS of them */
    struct kymo_regs alloc_regs;
    uint64_t alloc_frame; /* of the hook that has entered, as in a claim; 0: none has */
    uint64_t alloc_count; /* that the slot's threads have made, all but the present one */
    /* Its first mask holds these, by its attributes or its creator's mask_hooks.h; they are to be
     * kept open, and are open already. */
    uint64_t first_open, first_held;
    struct kymo_label_block label_blocks[KYMO_LABEL_BLOCKS];
    uint32_t was_labelled; /* 1: a change of its labels was recorded */
    /* The asyncio task that was running when the last stack was taken: with all signals blocked,
     * and of an allocation. */
    struct kymo_python_task task, alloc_task;
};

/* What this process knows of a definition beside its content. */
struct kymo_mark_known {
    uint64_t window; /* a second, and how many markers there were: of a site by its share, of a type
                        by what is shared (mark_slow.c) */
    uint32_t type;   /* of a site: its type's number */
    uint32_t limit;  /* of a site: its type's max_per_second */
    uint32_t sites;  /* of a type */
};

#define KYMO_KNOWN_LITERALS 512u /* a power of two */

struct kymo_capture_process {
    struct kymo_session *session; /* NULL: not capturing */
    struct kymo_session_plan plan;
    enum kymo_clock_kind clock;
    uint32_t depth;
    uint32_t closing; /* threads inside our dlclose hook */
    int signal;       /* by which samples arrive now; 0: none is left (signal_move.h) */
    uint64_t cookie;
    uint64_t heartbeat_limit;
    uint64_t default_stack_bytes;
    uint64_t mapped_bytes; /* of this and all that lies behind it */
    uint64_t tid_offset;   /* of the tid in glibc's control block of a thread; 0: not known */
    uint64_t base_cpu_ns;  /* CPU time of the main thread that no sample counts */
    int is_late;           /* threads had run before: what they used till they begin is not ours */
    uint32_t *bell; /* wakes the recorder (kymo_wake_recorder); NULL: no address space for it */
    struct kymo_capture_thread *threads; /* plan.threads of them */
    uint64_t *pcs;                       /* depth for each of them, and again for allocations */
    struct kymo_stack_repeat *repeats;   /* KYMO_STACK_REPEATS each, where allocations are seen */
    const struct kymo_table_area *table_area; /* in the session; NULL: there are no tables */
    const char *tables;                       /* the shared memory that it names places of */
    uint64_t tables_bytes;
    uint32_t tables_taken;   /* entries of the area that were looked at */
    uint32_t tables_lock;    /* 1: a thread adds or drops a table */
    uint32_t mark_epoch;     /* of the sessions of this memory, from 1 on; 0: there were too many */
    uint32_t session_number; /* the same, without an end */
    uint32_t functions;      /* that a tracer has told of */
    uint32_t literal_generation;              /* of the modules, that literals are of */
    struct kymo_definition_index definitions; /* what is in the session */
    struct kymo_mark_known *known;            /* by number */
    uint64_t *literals;                       /* KYMO_KNOWN_LITERALS: address << 16 | number */
    uint64_t anchor_clock, anchor_ns; /* the same moment on the session's and the kernel's clock */
    struct kymo_python *python;       /* NULL: none in this process, or not to be read */
    char *python_places;              /* see python_stack.h */
    uint32_t python_place_count;
    uint32_t python_adopted; /* 1: one that was loaded after the start is taken */
    struct kymo_walker walker;
};

/* Set by start; NULL again once a recording of this process has ended (start/begin.h). */
extern struct kymo_capture_process *kymo_process_state;
/* Threads that look at it outside of hooks: in the handler, at their end, before a fork. What it
 * points to is unmapped when there are none (start/begin.c). */
extern uint32_t kymo_process_users;
/* The clock of the last session in this memory, its kind + 1; 0: there was none. A forked child has
 * its parent's. */
extern uint32_t kymo_process_last_clock;
/* The calling thread; NULL before it is known, &kymo_thread_dead after it has ended. */
extern __thread struct kymo_capture_thread *kymo_thread_self KYMO_TLS_IE;
extern struct kymo_capture_thread kymo_thread_dead;
/* The session that kymo_thread_self is of: of an earlier one, its memory may be gone. */
extern __thread uint32_t kymo_thread_session KYMO_TLS_IE;
/* The mark_epoch of kymo_thread_self, to be compared before that memory is read. */
extern __thread uint32_t kymo_thread_epoch KYMO_TLS_IE;
/* The calling thread's own stack, as far as it is known. A forked child has its copy of it. */
extern __thread struct kymo_stack_bounds kymo_thread_stack KYMO_TLS_IE;
/* The same of its alternate stack, from before the thread is known. */
extern __thread struct kymo_alternate_stack kymo_thread_alternate KYMO_TLS_IE;

/* What the system call returned at whose end the last signal of ours arrived, of the calling
 * thread; 0: it arrived elsewhere (transfer_hooks.c). */
extern __thread int64_t kymo_cut_call KYMO_TLS_IE;

/* Around what uses kymo_process_state. */
KYMO_SIGNAL_SAFE static inline void kymo_process_enter(void)
{
    /* Either the thread that takes the state away sees this, or this thread sees that it is gone.
     */
    (void)__atomic_fetch_add(&kymo_process_users, 1u, __ATOMIC_SEQ_CST);
}

KYMO_SIGNAL_SAFE static inline void kymo_process_leave(void)
{
    (void)__atomic_fetch_sub(&kymo_process_users, 1u, __ATOMIC_RELEASE);
}

/* Whether the calling thread is known to this recording; kymo_thread_self may be of an earlier one.
 */
KYMO_SIGNAL_SAFE static inline int kymo_thread_is_of(const struct kymo_capture_process *p)
{
    return kymo_thread_self && kymo_thread_session == p->session_number;
}

/* The process if it has attached to a recorder, also after that stopped; NULL in a forked child. */
KYMO_SIGNAL_SAFE static inline struct kymo_capture_process *kymo_process_here(void)
{
    struct kymo_capture_process *p = kymo_load_acquire(&kymo_process_state);
    return p && p->session ? p : NULL;
}

/* The process if it is capturing, else NULL. */
KYMO_SIGNAL_SAFE static inline struct kymo_capture_process *kymo_capturing(void)
{
    struct kymo_capture_process *p = kymo_process_here();
    return p && !kymo_load_relaxed(&p->session->stopped) ? p : NULL;
}

/* Whether the recording is paused. */
KYMO_SIGNAL_SAFE static inline int kymo_is_paused(const struct kymo_capture_process *p)
{
    return (int)(kymo_load_relaxed(&p->session->pauses) & 1);
}

/* How many of process->threads were ever in use. The count is in the session, which the program may
 * overwrite: so it is limited to the number that exists. */
KYMO_SIGNAL_SAFE static inline uint32_t kymo_threads_touched(const struct kymo_capture_process *p)
{
    uint32_t touched = kymo_load_acquire(&p->session->slots_touched);
    return touched < p->plan.threads ? touched : p->plan.threads;
}

/* Whether a seccomp filter was installed since the start. It may kill a thread that makes a system
 * call which the program itself does not make. */
extern uint32_t kymo_quiet_here; /* the same of this process and of the children it forks */
/* The pid of a child of vfork that set one for itself, on this thread and in its parent's memory.
 */
extern __thread uint32_t kymo_quiet_vfork KYMO_TLS_IE;
KYMO_SIGNAL_SAFE static inline int kymo_is_quiet(const struct kymo_capture_process *p)
{
    return (kymo_load_relaxed(&p->session->quiet) & KYMO_QUIET_CALLS) != 0;
}

/* There is something in this session that the recorder should look at now. */
KYMO_SIGNAL_SAFE static inline void kymo_wake_recorder(struct kymo_capture_process *p)
{
    kymo_add_relaxed(&p->session->wake, 1u);
    if (p->bell && !kymo_is_quiet(p)) {
        kymo_add_relaxed(p->bell, 1u);
        kymo_raw_futex_wake(p->bell, 1);
    }
}

/* Whether the filter applies to the calling process. */
KYMO_SIGNAL_SAFE static inline int kymo_is_quiet_here(void)
{
    return kymo_load_relaxed(&kymo_quiet_here) ||
           (kymo_thread_pointer_is_libc(1) && kymo_quiet_vfork &&
            kymo_quiet_vfork == kymo_raw_getpid());
}

/* The clock for records, now. Where it may not be read, the recorder's last round, which is not
 * long ago: quiet, only the counter is sure to need no system call. */
KYMO_SIGNAL_SAFE static inline uint64_t kymo_process_clock(const struct kymo_capture_process *p)
{
    uint32_t quiet = kymo_load_relaxed(&p->session->quiet);
    if (kymo_unlikely(quiet & (KYMO_QUIET_CALLS | KYMO_QUIET_COUNTER)) &&
        (p->clock != KYMO_CLOCK_TSC || quiet & KYMO_QUIET_COUNTER))
        return kymo_load_acquire(&p->session->heartbeat);
    return kymo_clock_now(p->clock);
}

KYMO_SIGNAL_SAFE static inline void kymo_count_loss(struct kymo_capture_process *p,
                                                    enum kymo_loss_kind kind)
{
    kymo_add_relaxed(&p->session->lost[kind], 1u);
}

#endif
