/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - what lies in a block: records with a fixed header and raw words.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     capture/ -> [record] -> drain.c
 *
 * No varints, no formatting, no pointers into the program. The clock is the session's
 * (sys/clock.h); sizes are multiples of 8, so that every word is aligned.
 */
#ifndef KYMO_BUFFER_RECORD_H
#define KYMO_BUFFER_RECORD_H

#include <stdint.h>

#include "arch/registers.h"

/* In a stored stack: this is the very address that was interrupted, not a return address. The
 * first pc is such anyway; behind a signal frame there is another. User addresses have fewer bits.
 */
#define KYMO_PC_EXACT (1ull << 63)

/* In a stored stack: no address, but a Python frame. Its code in the code area
 * (buffer/code_area.h), a number of words below, and the place in its instructions, in bytes. */
#define KYMO_PC_PYTHON (1ull << 62)
#define KYMO_PC_PYTHON_CODE_SHIFT 32u
#define KYMO_PC_PYTHON_CODE_MAX ((1u << 24) - 1)

/* Kinds are stable within a layout version. 0 never stands in a block. */
enum kymo_record_kind {
    KYMO_RECORD_SAMPLE_CPU = 1,
    KYMO_RECORD_ANSWER = 2,
    KYMO_RECORD_MARKER = 3,
    KYMO_RECORD_COUNT = 4,
    KYMO_RECORD_LABEL = 5,
    KYMO_RECORD_BACKTRACE = 6,
    KYMO_RECORD_ALLOC = 7,
    KYMO_RECORD_FREE = 8,
    KYMO_RECORD_RESIZE = 9,
    KYMO_RECORD_MAP = 10,
    KYMO_RECORD_INHERIT = 11,
    KYMO_RECORD_FUNCTION = 12,
    KYMO_RECORD_THREAD_NAME = 13, /* the head alone; stack: the text's bytes, which follow */
};

/* Why something could not be recorded: the index of a loss counter. X(name, text). */
#define KYMO_LOSS_LIST(X)                                     \
    X(SAMPLE_NO_BLOCK, "samples: buffer full")                \
    X(STACK_FULL, "stacks: depot full")                       \
    X(MODULE_FULL, "modules: table full")                     \
    X(THREAD_FULL, "threads: table full")                     \
    X(RECORDER_GONE, "samples: recorder silent")              \
    X(CORRUPT, "records: session memory overwritten")         \
    X(NO_TIMER, "threads: timer could not be made")           \
    X(MARK_NO_BLOCK, "markers: buffer full")                  \
    X(MARK_BUSY, "markers: in the middle of two others")      \
    X(MARK_NO_THREAD, "markers: thread not known")            \
    X(MARK_NO_SITE, "markers: no room for their names")       \
    X(MARK_STACK, "markers: stack not taken")                 \
    X(DEFINITION_FULL, "names of markers: table full")        \
    X(LABEL, "labels: buffer full")                           \
    X(COUNT, "counters: changes not counted")                 \
    X(COUNTER_FULL, "counters: table full")                   \
    X(LABEL_CUT, "labels: texts cut")                         \
    X(SAMPLE_BUSY, "samples: in the middle of two records")   \
    X(ALLOC_NO_BLOCK, "allocations: buffer full")             \
    X(ALLOC_TABLE, "allocations: table full")                 \
    X(ALLOC_BUSY, "allocations: in the middle of two others") \
    X(ALLOC_NO_THREAD, "allocations: thread not known")       \
    X(ALLOC_EARLY, "allocations: before the start")           \
    X(FREE, "frees: buffer full")                             \
    X(MAP, "mappings: buffer full")                           \
    X(NOT_LIBC, "samples: thread with its own TLS")           \
    X(SMALL_STACK, "samples: alternate stack too small")      \
    X(CODE_FULL, "Python functions: table full")              \
    X(PYTHON, "Python frames: not read")                      \
    X(CALL, "traced calls: buffer full")                      \
    X(CALL_SHORT, "traced calls: short, buffer nearly full")  \
    X(FUNCTION, "traced functions: names cut or lost")        \
    X(SAMPLE_LATE, "samples: recorder late, ring full")

enum kymo_loss_kind {
#define X(name, text) KYMO_LOSS_##name,
    KYMO_LOSS_LIST(X)
#undef X
        KYMO_LOSS_KINDS
};

struct kymo_record {
    uint64_t clock;
    uint16_t kind;
    uint16_t size_bytes; /* of the whole record, header included */
    uint32_t stack;      /* depot id, 0: none */
};

struct kymo_record_sample {
    struct kymo_record head;
    uint64_t weight_ns; /* CPU time of the thread since its last sample; 0: not known */
};

/* The stack of a thread that the recorder asked for it, with what it needs to know the place again:
 * the registers that calls leave alone, and a hash of the stack but its innermost frame. */
struct kymo_record_answer {
    struct kymo_record head;
    uint64_t callers;
    uint64_t is_disturbed; /* 1: the system call that the signal found ends with EINTR */
    uint64_t ip, sp, saved[KYMO_SLOTS_SAVED]; /* by slot of a row of unwind information */
};

/* A marker: its head's stack is the site's number (definition.h) in the low half, and flags above
 * it. Words follow for those flags that name one, in the order of the flags; then the payload,
 * which is the image of the type's C structure; of a site of kind TEXT the slot of that text.
 * Clocks are the session's. */
enum kymo_mark_flags {
    KYMO_MARK_PHASE = 3u << 0,     /* enum kymo_mark_phase */
    KYMO_MARK_START = 1u << 2,     /* a clock: it began there; the head's is its end */
    KYMO_MARK_STACK = 1u << 3,     /* depot id of its stack */
    KYMO_MARK_BACKTRACE = 1u << 4, /* of a stack that was taken before */
    KYMO_MARK_THREAD = 1u << 5,    /* tid, not the stream's own; UINT32_MAX: the main one */
    KYMO_MARK_TRACK = 1u << 6,     /* number of its track */
    KYMO_MARK_OWNER = 1u << 7,     /* a number of the program's own */
    KYMO_MARK_ID = 1u << 8,        /* of the interval */
    KYMO_MARK_MADE = 1u << 9,      /* a clock: the head's is the program's, it was made then */
    KYMO_MARK_NAME = 1u << 10,     /* struct kymo_text_slot: instead of the site's */
    KYMO_MARK_CELLS = 1u << 11,    /* how many: the payload is so many struct kymo_record_cell */
};

enum kymo_mark_phase {
    KYMO_PHASE_INSTANT = 0,
    KYMO_PHASE_INTERVAL = 1, /* with START */
    KYMO_PHASE_BEGIN = 2,
    KYMO_PHASE_END = 3,
};

/* In a payload, where the C structure has a pointer to text or cells. The bytes follow the image.
 */
struct kymo_text_slot {
    uint32_t at;  /* bytes from the payload's start; of a literal: its number */
    uint16_t len; /* bytes, or cells */
    uint16_t flags;
};

enum kymo_text_flags {
    KYMO_TEXT_IS_THERE = 1,
    KYMO_TEXT_IS_CUT = 2,
    KYMO_TEXT_IS_UTF16 = 4,
    KYMO_TEXT_IS_LITERAL = 8,
};

struct kymo_record_cell {
    uint32_t kind; /* enum kymo_mark_kind of kymo/marker_abi.h */
    uint32_t reserved;
    uint64_t value; /* or a struct kymo_text_slot */
};

/* A counter has changed: its number is the head's stack. */
struct kymo_record_count {
    struct kymo_record head;
    int64_t value; /* what was added, or what a gauge is */
    uint64_t operations;
};

/* The thread's labels have changed: what was pushed above `depth` is gone, then there is this one
 * more. The texts follow. */
struct kymo_record_label {
    struct kymo_record head; /* stack: enum kymo_label_change */
    uint32_t depth;
    uint32_t key_bytes;
    struct kymo_record_cell value; /* a text's slot counts from the record's start */
};

enum kymo_label_change {
    KYMO_LABEL_PUSHED = 1,
    KYMO_LABEL_POPPED = 2,    /* without key and value */
    KYMO_LABEL_WAS_SET = 3,   /* the one of this key; a value of kind 0: it is no more */
    KYMO_LABEL_INHERITED = 4, /* struct kymo_record_label_inherited */
};

/* The first change of a forked child's thread: it has what the thread that forked it had then, of
 * what was pushed the outermost `depth`. */
struct kymo_record_label_inherited {
    struct kymo_record head;
    uint32_t depth;
    uint32_t recorded_as; /* of the session of that thread */
    uint32_t tid;         /* of that thread */
    uint32_t reserved;
    uint64_t fork_ns; /* CLOCK_MONOTONIC, of a time between its last change before and its first one
                       * after the fork */
};

/* A stack that later markers of any thread may have. */
struct kymo_record_backtrace {
    struct kymo_record head; /* stack: its depot id */
    uint64_t backtrace;      /* how they name it */
};

/* ---- memory: capture/alloc.h says what is recorded ---- */

/* Whose function was called. What new[] and the like forward to malloc counts there alone. */
enum kymo_alloc_family {
    KYMO_ALLOC_MALLOC = 0, /* malloc, and what has no better name */
    KYMO_ALLOC_CALLOC = 1,
    KYMO_ALLOC_REALLOC = 2,
    KYMO_ALLOC_ALIGNED = 3, /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc */
    KYMO_ALLOC_NEW = 4,
    KYMO_ALLOC_NEW_ARRAY = 5,
    KYMO_ALLOC_EXTENDED = 6, /* mallocx and its family */
    KYMO_ALLOC_EARLY = 7,    /* before our start: its stack is the caller alone */
    KYMO_ALLOC_PYTHON = 8,   /* an object of Python's own allocator, in memory that it mapped */
    KYMO_ALLOC_FAMILIES,
};

/* A block that was drawn. Its id is unique in the process and in all that it was forked from:
 * session's epoch (12 bits) | slot (12) | the thread's count of allocations (40). */
struct kymo_record_alloc {
    struct kymo_record head; /* stack: depot id */
    uint64_t id;
    uint64_t address;
    uint64_t bytes;        /* as asked for */
    uint32_t rate;         /* mean bytes between two draws when this one was made; 1: each is */
    uint32_t slack_family; /* usable - asked bytes, at most KYMO_ALLOC_SLACK_MAX, << 8 | family */
};
#define KYMO_ALLOC_SLACK_MAX ((1u << 24) - 1)
#define KYMO_MEMORY_BYTES_MAX \
    (1ull << 56) /* of a block or a mapping: there are no more addresses */

/* Written before the block is given back. */
struct kymo_record_free {
    struct kymo_record head; /* stack: lower half of this thread's count of allocations */
    uint64_t id;
};

/* A block that was drawn before, or now, has another size and perhaps place. */
struct kymo_record_resize {
    struct kymo_record_alloc now; /* id: of the block as it was; a new one if it was not drawn */
    uint64_t usable_before;       /* bytes; of a block that was not drawn before, too */
    uint64_t was_drawn;           /* bit 0: before, bit 1: by this call */
};

enum kymo_map_op {
    KYMO_MAP_MAP = 1,
    KYMO_MAP_UNMAP = 2,
    KYMO_MAP_MOVE = 3,   /* mremap: from before, bytes_before */
    KYMO_MAP_BREAK = 4,  /* brk, sbrk: [address, + bytes) is new, or with bytes_before gone */
    KYMO_MAP_SHARED = 5, /* shmat */
};

enum kymo_map_how {
    KYMO_MAP_BY_ALLOCATOR = 1,
    KYMO_MAP_OF_FILE = 2,
    KYMO_MAP_IS_SHARED = 4,
    KYMO_MAP_IS_STACK = 8, /* of a thread */
};

/* After mmap, before munmap. */
struct kymo_record_map {
    struct kymo_record head; /* stack: depot id; 0 of those that take away */
    uint64_t address, bytes;
    uint64_t before, bytes_before;
    uint32_t op;  /* enum kymo_map_op */
    uint32_t how; /* enum kymo_map_how */
    uint64_t reserved;
};

/* In a forked child: this block of its parent's was there at the fork. */
struct kymo_record_inherit {
    struct kymo_record head;
    uint64_t id;
    uint64_t address;
};

/* ---- traced calls: include/kymo/trace_abi.h ---- */

/* A function that calls name, once in a session before its first call, in the stream of the thread
 * that met it first. The texts follow, up to a whole word. */
struct kymo_record_function {
    struct kymo_record head; /* stack: the function's number */
    uint32_t first_line;
    uint16_t language; /* enum kymo_trace_language */
    uint16_t flags;    /* enum kymo_trace_function_flags */
    uint16_t name_len, file_len;
    uint32_t reserved;
};
#define KYMO_FUNCTION_NAME_MAX 512u
#define KYMO_FUNCTION_FILE_MAX 1024u /* of a longer path the end is kept */
#define KYMO_THREAD_NAME_MAX 255u
/* Numbers count from 1. */
#define KYMO_FUNCTION_NUMBER_MAX (1u << 22)

_Static_assert(sizeof(struct kymo_record_function) == 32, "function record");
_Static_assert(sizeof(struct kymo_record_alloc) == 48, "alloc record");
_Static_assert(sizeof(struct kymo_record_free) == 24, "free record");
_Static_assert(sizeof(struct kymo_record_resize) == 64, "resize record");
_Static_assert(sizeof(struct kymo_record_map) == 64, "map record");
_Static_assert(sizeof(struct kymo_record_inherit) == 32, "inherit record");
_Static_assert(sizeof(struct kymo_text_slot) == 8, "text slot");
_Static_assert(sizeof(struct kymo_record_cell) == 16, "cell");
_Static_assert(sizeof(struct kymo_record_count) == 32, "count record");
_Static_assert(sizeof(struct kymo_record_label) == 40, "label record");
_Static_assert(sizeof(struct kymo_record_label_inherited) == 40, "inherited labels record");
_Static_assert(sizeof(struct kymo_record_backtrace) == 24, "backtrace record");
_Static_assert(sizeof(struct kymo_record_answer) == 48 + 8 * KYMO_SLOTS_SAVED, "answer record");
_Static_assert(sizeof(struct kymo_record) == 16, "record header");
_Static_assert(sizeof(struct kymo_record_sample) == 24, "sample record");

#endif
