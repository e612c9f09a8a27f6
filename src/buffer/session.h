/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - the shared memory of one process image, and where everything lies in it.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     capture/ in the program -> [session] -> drain in the recorder
 * Threads:  each field names its writers
 * Memory:   one mapping of fixed size, made by the recorder; nothing in it is a pointer
 * Signals:  kymo_session_at* are safe
 *
 *   header | table entries | thread slots | modules | module index | definition index |
 * definitions | counts of sites | open scopes | counters | code index | code | depot A | depot B |
 * small blocks | large blocks
 *
 * Both sides compute the offsets from the same sizes (kymo_session_plan), so a program that
 * scribbles over the header cannot lead the recorder astray: the recorder keeps its own copy of
 * the plan and bounds every index it reads. The program in turn trusts the header only at start.
 */
#ifndef KYMO_BUFFER_SESSION_H
#define KYMO_BUFFER_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "buffer/allocator_words.h"
#include "buffer/record.h"
#include "buffer/table_area.h"
#include "unwind/python_walk.h"

#define KYMO_SESSION_MAGIC 0x73736573796b0001ull
#define KYMO_SESSION_LAYOUT 18u

#define KYMO_SMALL_BLOCK_BYTES 4096u
#define KYMO_LARGE_BLOCK_BYTES 65536u
#define KYMO_SESSION_BUILD_ID_MAX 32u
#define KYMO_MODULE_PATH_MAX 384u
#define KYMO_CONTROL_BYTES 512u

/* si_code of the signals by which the recorder asks a thread for its stack (struct
 * kymo_record_answer); those with SI_QUEUE ask it to look into its slot. Both carry the cookie. */
#define KYMO_ASK_CODE SI_ASYNCIO

/* What raises the samples. */
enum kymo_session_engine {
    KYMO_SESSION_PERF = 1,
    KYMO_SESSION_TIMER = 2,
    KYMO_SESSION_DISPATCH = 3,
};

/* si_code of the signals that the recorder sends to take a sample; those with SI_QUEUE ask the
 * thread to look into its slot. Both carry the cookie. */
#define KYMO_DISPATCH_CODE SI_MESGQ

/* What the recording is of. */
enum kymo_session_flags {
    KYMO_SESSION_CHILDREN = 1u << 0,     /* what the process starts is to be recorded, too */
    KYMO_SESSION_WALL = 1u << 1,         /* waiting threads, too: a child attaches at once */
    KYMO_SESSION_SIGNAL_FIXED = 1u << 2, /* signal= was given: stay with that one */
    KYMO_SESSION_TRACE_PYTHON = 1u << 3, /* Python's calls are traced */
    KYMO_SESSION_COPIES = 1u << 4,       /* a thread may be sampled without a signal */
};

/* Whether any thread may be sampled without a signal. */
enum kymo_handlers_wanted {
    KYMO_HANDLERS_NOT_WANTED = 0,
    KYMO_HANDLERS_WANTED = 1,         /* none may any more */
    KYMO_HANDLERS_WANTED_IN_VAIN = 2, /* nor was it waited for what the recorder had to read */
};

/* What the program's side does no more; set by the program or the recorder, never taken back. */
enum kymo_quiet {
    KYMO_QUIET_CALLS = 1u << 0, /* a seccomp filter came: handlers and hooks make no system call */
    KYMO_QUIET_COUNTER = 1u << 1, /* nor do they read the time-stamp counter: it would fault */
    KYMO_QUIET_SIGNALS = 1u << 2, /* no handler could return: there are none, and no signals */
    KYMO_QUIET_STOPPED = 1u << 3, /* beside kymo_session.stopped: what a marker looks at */
};

/* The sizes of the parts, a pure function of the whole size. */
struct kymo_session_plan {
    uint64_t total_bytes;
    uint32_t threads;      /* slots */
    uint32_t modules;      /* entries */
    uint32_t module_slots; /* of the index, a power of two */
    uint32_t depot_words;  /* 8-byte words of arena in each of the two depots */
    uint32_t depot_slots;  /* hash buckets in each, a power of two */
    uint32_t small_blocks;
    uint32_t large_blocks;
    uint32_t definitions; /* numbers from 1 up to it */
    uint32_t definition_bytes;
    uint32_t counters;
    uint32_t code_words; /* 8-byte words for code objects */
    uint32_t code_slots; /* of their index, a power of two */
    uint64_t tables_at, threads_at, modules_at, module_index_at, definition_index_at,
        definitions_at, site_counts_at, scopes_at, counters_at, code_index_at, codes_at, depots_at,
        depot_bytes, small_at, large_at;
};

/* A stream's chain of blocks begins here; the blocks themselves say what follows. */
struct kymo_stream {
    /* Block number + 1; 0: nothing yet. Written by the owner, cleared by the drain. */
    uint32_t first;
    uint32_t last; /* that is written to now */
};

enum kymo_stream_kind {
    KYMO_STREAM_TASK = 0,
    KYMO_STREAM_SIGNAL = 1,
    KYMO_STREAM_CALLS = 2, /* traced calls, which no handler makes: it needs no claim */
    KYMO_STREAMS = 3,
};

enum kymo_slot_state {
    KYMO_SLOT_FREE = 0,    /* on the free list; the program may claim it */
    KYMO_SLOT_CLAIMED = 1, /* being filled by the program */
    KYMO_SLOT_LIVE = 2,    /* a running thread */
    KYMO_SLOT_EXITED = 3,  /* written to no more; the recorder drains and frees it */
};

enum kymo_slot_flags {
    KYMO_SLOT_MAIN = 1u << 0,
    KYMO_SLOT_ADOPTED = 1u << 1, /* found by the recorder, not by a hook */
};

/* One thread. All but the last cache line is written by the thread itself, the last by the
 * recorder. */
struct kymo_thread_slot {
    uint32_t state;      /* enum kymo_slot_state; release by the writer of the transition */
    uint32_t tid;        /* as the program sees it in its pid namespace */
    uint32_t generation; /* counts the claims of this slot */
    uint32_t flags;
    uint64_t start_clock;
    uint64_t end_clock;
    uint64_t end_cpu_ns; /* the thread's CPU clock when it left, or when the process was about to
                          * end; 0 if it could not say */
    struct kymo_stream streams[KYMO_STREAMS];
    uint32_t next_free; /* slot number + 1 */
    uint32_t timer_on;  /* 1: the thread armed a timer of its own */
    char name[16];      /* as the thread was called when it ended */
    /* Exact, all that were ever asked for, as of the thread's last record of memory, and at its
     * end. */
    uint64_t alloc_count, alloc_bytes;
    uint64_t stack_lo, stack_hi; /* of the thread; 0: not known */

    uint64_t samples __attribute__((aligned(64)));
    uint64_t handler_ns; /* CPU time spent in our handler */
    uint32_t depot_pin;  /* epoch in use + 1 while inside the handler, 0 outside */
    uint32_t answers;    /* signals of the dispatcher that arrived */
    uint64_t disturbed;  /* system calls that returned EINTR for a signal of ours */
    uint32_t alloc_pin;  /* as depot_pin, while an allocation takes its stack */
    uint32_t pauses;     /* kymo_session.pauses when the thread began or, if later, was last found
                          * running between two pauses */
    uint64_t paused_cpu_ns; /* CPU time from the last samples before pauses to the first signals
                             * behind them */
    uint64_t sp_least;      /* the lowest stack pointer that a sample found; UINT64_MAX: none did */

    int32_t perf_fd __attribute__((aligned(64))); /* the descriptor number its signals carry; -1 */
    int32_t perf_fd_before;                       /* the same of the event before; -1 */
    uint32_t perf_kernel;                         /* 1: the event counts in the kernel, too */
    uint32_t ask_timer;                           /* 1: arm a timer, as perf cannot be used */
    uint64_t seen_cpu_ns; /* CPU time that /proc told, for a thread that may not ask; else 0 */
    uint64_t copied_ns;   /* CPU time of the samples that the recorder took without a signal */
    uint32_t is_copied;   /* 1: it takes them; release when it is 0 again, behind copied_ns */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct kymo_thread_slot) == 256, "thread slot");

/* A scope of a thread that has begun and not ended; the outermost first. */
struct kymo_open_scope {
    uint64_t start; /* on the session's clock */
    uint32_t site;  /* 0: none; written last at its beginning, and at its end */
    uint32_t frame; /* the program's own: where in the thread's stack it began */
};
#define KYMO_OPEN_SCOPES \
    32u /* of a thread; deeper ones are recorded when they end, or not at all */

/* What became of a site's markers that are not in a block, grown by any thread; of a category,
 * whether it is on. By the number of its definition. */
struct kymo_site_counts {
    union {
        uint64_t lost;
        uint64_t category_is_on;
    };
    uint64_t capped;
    uint64_t cut;
};

/* A part of a counter. Threads share a counter's parts by their numbers, so that few meet in one.
 */
struct kymo_counter_part {
    int64_t value;
    uint64_t operations;
    uint32_t definition; /* its number; release, in the first part only; 0: free */
    uint32_t reserved[11];
};
#define KYMO_COUNTER_PARTS 8u
_Static_assert(sizeof(struct kymo_counter_part) == 64, "a counter's part is a cache line");

enum kymo_module_state { KYMO_MODULE_EMPTY = 0, KYMO_MODULE_FILLING = 1, KYMO_MODULE_READY = 2 };

/* A mapped ELF file as the handler saw it. Written once, then published by state; revived with a
 * new load_generation when it is loaded again and the recorder needs its old life no more. */
struct kymo_module_entry {
    uint32_t state;
    uint32_t load_generation;   /* it was first seen under this generation */
    uint32_t unload_generation; /* it was gone under this one; 0: still there */
    uint32_t read_generation; /* written by the recorder: the last unload_generation up to which it
                               * has read all stacks */
    uint64_t map_start, map_end;   /* the whole mapping */
    uint64_t bias;                 /* runtime address - ELF address */
    uint64_t text_start, text_end; /* runtime addresses of the first executable segment */
    uint64_t text_offset;          /* its offset in the file */
    uint64_t eh_frame_hdr;         /* runtime address of PT_GNU_EH_FRAME, 0 */
    uint64_t seen_clock;
    uint64_t unload_clock;
    uint8_t build_id[KYMO_SESSION_BUILD_ID_MAX];
    uint32_t build_id_len;
    uint32_t path_len;
    char path[KYMO_MODULE_PATH_MAX]; /* as the loader names it; empty for the executable */
};
_Static_assert(sizeof(struct kymo_module_entry) == 512, "module entry");

/* An interned stack: pcs follow. Ids are (epoch & 255) << 24 | word offset of the entry. */
struct kymo_depot_entry {
    uint64_t hash;
    uint32_t next;       /* word offset of the next entry in the bucket, 0: none */
    uint32_t generation; /* of the modules, when the stack was taken */
    uint32_t n;
    uint32_t flags; /* KYMO_STACK_* */
    uint64_t pcs[];
};
_Static_assert(sizeof(struct kymo_depot_entry) == 24, "depot entry");

/* Of kymo_depot_entry.flags: how the walk ended (enum kymo_walk_end), and its notes above. */
#define KYMO_STACK_END_MASK 0xffu
#define KYMO_STACK_NOTES_SHIFT 8

struct kymo_depot_head {
    uint32_t epoch;
    uint32_t used_words
        __attribute__((aligned(64))); /* grown by any thread; may exceed the arena */
};

/* Lies at the start of each block; records follow it. */
struct kymo_block {
    uint32_t next_free;  /* while on the free list: block number + 1 */
    uint32_t slot;       /* whose it is */
    uint32_t generation; /* of that slot */
    uint32_t stream;
    uint32_t next; /* block number + 1 of the stream's next block; release by the owner */
    uint32_t held; /* bytes behind head, which the owner may take back while it lives */
    uint64_t head __attribute__((aligned(32))); /* bytes in use, header included; release */
    uint64_t pad[3];
};
_Static_assert(sizeof(struct kymo_block) == 64, "block header");

/* Why a program that the process starts runs without us: the index of a reason, as the recording
 * tells it behind the program's path. X(name, text). */
#define KYMO_REFUSAL_LIST(X)                                                                       \
    X(UNREADABLE, "its file cannot be read")                                                       \
    X(STATIC, "it is statically linked")                                                           \
    X(MACHINE, "it is made for another machine")                                                   \
    X(LOADER, "its loader is not the glibc that we run under")                                     \
    X(ASAN, "it brings AddressSanitizer, which wants to be loaded first")                          \
    X(PRIVILEGES, "it gains privileges (setuid, setgid or file capabilities)")                     \
    X(LIBRARY, "libkymo-preload.so cannot be reached from where it starts")                        \
    X(SCRIPTS, "too many scripts are each other's interpreters")                                   \
    X(ENVIRONMENT, "there is no room to pass its environment on")                                  \
    X(RECORDER, "the recorder cannot be reached from it (another network namespace, or too busy)") \
    X(FILTER, "it begins behind a seccomp filter, which may forbid what we do at the start")       \
    X(LIMITS, "its limits leave no room for the session (address space or descriptors)")           \
    X(FOLDER, "it is named relative to a folder that the process may not be in")                   \
    X(NO_LIBC, "it does not use the C library (as Go programs without cgo)")                       \
    X(TSAN, "it brings ThreadSanitizer, which puts off signals")

enum kymo_refusal_reason {
#define X(name, text) KYMO_REFUSAL_##name,
    KYMO_REFUSAL_LIST(X)
#undef X
        KYMO_REFUSAL_REASONS
};

#define KYMO_REFUSALS 16u

/* A program that was started without us. They lie in a ring: refusal.h. */
struct kymo_refusal {
    uint32_t sequence; /* its number in the session from 1 on, 0 while it is written; release */
    int32_t pid;       /* of the process that becomes it, or that starts it */
    uint32_t reason;   /* enum kymo_refusal_reason */
    char path[116];    /* the end of it, if it is longer */
};
_Static_assert(sizeof(struct kymo_refusal) == 128, "refusal");

struct kymo_session {
    uint64_t magic;
    uint32_t layout;
    uint32_t header_bytes;
    uint64_t total_bytes;
    /* Configuration: written by the recorder before the program maps the session. The period may
     * change later. */
    uint32_t clock_kind;
    uint32_t engine;
    uint64_t period_ns;
    uint32_t depth;
    uint32_t signal;          /* by which samples are to arrive at first */
    uint64_t cookie;          /* the value that our own queued signals and timers carry */
    uint64_t heartbeat_limit; /* in clock units: silence longer than this ends the capture */
    uint64_t network_cookie;  /* the network namespace of the recorder's socket; 0: not known */
    uint64_t network_device;  /* the same; inode 0: not known */
    uint64_t network_inode;
    uint32_t flags;    /* enum kymo_session_flags */
    uint32_t pid;      /* written by the program when it attaches */
    uint32_t attached; /* 1 once the handler is in place; release */

    /* Written by the program's threads. */
    uint64_t free_slots __attribute__((aligned(64))); /* tag << 32 | slot number + 1 */
    uint64_t free_small __attribute__((aligned(64))); /* tag << 32 | block number + 1 */
    uint64_t free_large __attribute__((aligned(64)));
    /* Bytes of the blocks that were taken so far, and given back: what lies between is in use. */
    uint64_t taken_bytes, given_bytes;
    uint32_t module_count __attribute__((aligned(64)));
    uint32_t module_generation;
    uint32_t module_changes;                    /* counts what was published of entries */
    uint32_t slots_touched;                     /* high-water mark of claimed slots */
    uint32_t wake __attribute__((aligned(64))); /* counts the threads that began */
    uint32_t filled; /* counts the times that a thread had filled several blocks since the last */
    uint64_t lost[KYMO_LOSS_KINDS] __attribute__((aligned(64)));
    /* CPU clock of the thread that calls exec, just before it does: it becomes the main thread of
     * the next image, with this clock. Beside it the clock of this image's main thread, which may
     * be another one. Stale if that exec failed. */
    uint64_t replaced_cpu_ns, replaced_main_ns;
    uint64_t definition_used __attribute__((aligned(64))); /* bytes of them that were claimed */
    uint32_t definition_count;                             /* numbers that were given out */
    uint32_t counter_count;
    uint32_t code_used;     /* words of the code area that were claimed; the first is never used */
    uint32_t relatives;     /* counts forks, and programs that were started with us in their
                             * environment: there may be more of them than attach */
    uint32_t refusal_count; /* that were ever written, also by children of vfork */
    struct kymo_refusal refusals[KYMO_REFUSALS] __attribute__((aligned(64)));

    /* The signal that samples arrive by now; 0: the program uses all that could carry them. */
    uint32_t signal_now __attribute__((aligned(64)));
    uint32_t signal_wanted;   /* 1: the program wants the one that signal= gave; it has it */
    uint32_t quiet;           /* enum kymo_quiet */
    uint32_t control_seen;    /* the control_seq of the list that its categories follow; release */
    uint32_t handlers_wanted; /* enum kymo_handlers_wanted */

    /* Written by the recorder. */
    uint64_t heartbeat __attribute__((aligned(64))); /* clock of its last round */
    uint32_t depot_epoch;                            /* depot (epoch & 1) takes new stacks */
    uint32_t stopped;                                /* 1: capture no more */
    uint32_t signal_done;     /* the last signal_now that all of its events follow */
    uint32_t recorded_as;     /* the process's number in the recording + 1; 0: it has none yet */
    uint32_t handler_samples; /* of a thread, at which its handler rings the bell: it may do without
                               * from then on; 0: it may not */
    uint32_t handlers_given;  /* 1: as handlers_wanted wants it; release */
    uint32_t pauses;          /* counts the beginnings and ends of pauses: odd in a pause */
    /* Which categories of markers are on: a list as capture/mark_select.c has them, that ends with
     * a NUL. control_seq is odd while it is written, another even number afterwards, and then the
     * process is called: whichever of its threads takes the signal looks, and says so in
     * control_seen. */
    uint32_t control_seq;
    char control[KYMO_CONTROL_BYTES];
    /* Mean bytes between two allocations that are recorded; 1: each one is; 0: none. It may change:
     * a thread's next draw is made with it. */
    uint64_t alloc_rate;
    uint64_t map_least; /* bytes of a mapping that is recorded */
    /* Counts the recorder's questions about the allocator's own figures; 0: none was asked yet. */
    uint32_t allocator_wanted;

    /* Written by the program when it attaches: the CPython that it runs, if any. */
    uint32_t python;                         /* minor version of 3; 0: none was found */
    uint32_t python_read;                    /* 1: its frames are read */
    uint32_t python_free_threaded;           /* 1: they are not, and it has no GIL */
    uint64_t python_lo, python_hi;           /* where its code is mapped */
    uint64_t python_eval_lo, python_eval_hi; /* _PyEval_EvalFrameDefault */
    uint64_t python_runtime;                 /* _PyRuntime */
    uint64_t python_code_type;               /* PyCode_Type */
    uint64_t python_tid_offset;              /* of the tid from pthread_self(); 0: not known */
    uint32_t tracer;                         /* enum kymo_tracer; any of its threads */
    /* Written by the recorder, of one that was loaded later; then the program reads it. */
    uint32_t python_came; /* 1: the next is whole */
    struct kymo_python python_late;
    char name[16];       /* of the thread that does; empty: not known */
    uint32_t allocator;  /* enum kymo_allocator */
    uint32_t frees_late; /* that wait to be written; any thread's. At the end they are lost */
    /* Where our own memory lies in the program: [lo, hi) each. */
    struct {
        uint64_t lo, hi;
    } own[4];
    struct kymo_allocator_words allocator_words;
};

/* Of what in the process traces calls; bits. */
enum kymo_tracer {
    KYMO_TRACER_CAME = 1,             /* a thread is traced, or was */
    KYMO_TRACER_OF_OTHER_VERSION = 2, /* one was refused */
};

/* Who answers malloc. */
enum kymo_allocator {
    KYMO_ALLOCATOR_UNKNOWN = 0, /* allocations are not recorded */
    KYMO_ALLOCATOR_GLIBC = 1,
    KYMO_ALLOCATOR_JEMALLOC = 2,
    KYMO_ALLOCATOR_TCMALLOC = 3,
    KYMO_ALLOCATOR_MIMALLOC = 4,
    KYMO_ALLOCATOR_OTHER = 5,
    KYMO_ALLOCATOR_PROGRAM = 6, /* the executable's own, which calls us never */
};

/* See kymo_session_slot. A definition's place in definitions, in bytes + 1; 0: not there (yet). */
static inline uint32_t *kymo_session_definition_index(struct kymo_session *s,
                                                      const struct kymo_session_plan *plan)
{
    return (uint32_t *)(void *)((char *)s + plan->definition_index_at);
}

static inline void *kymo_session_definitions(struct kymo_session *s,
                                             const struct kymo_session_plan *plan)
{
    return (char *)s + plan->definitions_at;
}

static inline struct kymo_site_counts *kymo_session_site_counts(
    struct kymo_session *s, const struct kymo_session_plan *plan, uint32_t number)
{
    return (struct kymo_site_counts *)(void *)((char *)s + plan->site_counts_at) + number;
}

static inline struct kymo_open_scope *kymo_session_scopes(struct kymo_session *s,
                                                          const struct kymo_session_plan *plan,
                                                          uint32_t slot)
{
    return (struct kymo_open_scope *)(void *)((char *)s + plan->scopes_at) +
           (size_t)slot * KYMO_OPEN_SCOPES;
}

static inline struct kymo_counter_part *kymo_session_counter(struct kymo_session *s,
                                                             const struct kymo_session_plan *plan,
                                                             uint32_t counter)
{
    return (struct kymo_counter_part *)(void *)((char *)s + plan->counters_at) +
           (size_t)counter * KYMO_COUNTER_PARTS;
}

/* Lays out a session of about total_bytes (1 MiB to 4 GiB; else KYMO_E_RANGE). */
KYMO_NODISCARD
kymo_err kymo_session_plan(uint64_t total_bytes, struct kymo_session_plan *plan);

/* Fills a fresh, zeroed mapping of plan->total_bytes: magic, free lists, first epoch. The caller
 * sets the configuration fields. Recorder only. */
void kymo_session_format(struct kymo_session *session, const struct kymo_session_plan *plan);

/* Checks that a mapping of size bytes is a session of this layout. Program only. */
KYMO_NODISCARD
kymo_err kymo_session_check(const struct kymo_session *session, size_t size,
                            struct kymo_session_plan *plan);

static inline struct kymo_table_area *kymo_session_tables(struct kymo_session *s,
                                                          const struct kymo_session_plan *plan)
{
    return (struct kymo_table_area *)(void *)((char *)s + plan->tables_at);
}

static inline struct kymo_thread_slot *kymo_session_slot(struct kymo_session *s,
                                                         const struct kymo_session_plan *plan,
                                                         uint32_t slot)
{
    return (struct kymo_thread_slot *)(void *)((char *)s + plan->threads_at) + slot;
}

static inline struct kymo_module_entry *kymo_session_module(struct kymo_session *s,
                                                            const struct kymo_session_plan *plan,
                                                            uint32_t module)
{
    return (struct kymo_module_entry *)(void *)((char *)s + plan->modules_at) + module;
}

static inline uint32_t *kymo_session_module_index(struct kymo_session *s,
                                                  const struct kymo_session_plan *plan)
{
    return (uint32_t *)(void *)((char *)s + plan->module_index_at);
}

static inline uint32_t kymo_session_blocks(const struct kymo_session_plan *plan)
{
    return plan->small_blocks + plan->large_blocks;
}

/* Blocks are numbered through: the small ones first. */
static inline uint32_t kymo_session_block_bytes(const struct kymo_session_plan *plan,
                                                uint32_t block)
{
    return block < plan->small_blocks ? KYMO_SMALL_BLOCK_BYTES : KYMO_LARGE_BLOCK_BYTES;
}

static inline struct kymo_block *kymo_session_block(struct kymo_session *s,
                                                    const struct kymo_session_plan *plan,
                                                    uint32_t block)
{
    uint64_t at =
        block < plan->small_blocks
            ? plan->small_at + (uint64_t)block * KYMO_SMALL_BLOCK_BYTES
            : plan->large_at + (uint64_t)(block - plan->small_blocks) * KYMO_LARGE_BLOCK_BYTES;
    return (struct kymo_block *)(void *)((char *)s + at);
}

#endif
