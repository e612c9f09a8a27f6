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

/* In a stored stack: this is the very address that was interrupted, not a return address. The
 * first pc is such anyway; behind a signal frame there is another. User addresses have 47 bits. */
#define KYMO_PC_EXACT (1ull << 63)

/* Kinds are stable within a layout version. 0 never stands in a block. */
enum kymo_record_kind {
    KYMO_RECORD_SAMPLE_CPU = 1,
    KYMO_RECORD_ANSWER = 2,
    KYMO_RECORD_MARKER = 3,
    KYMO_RECORD_COUNT = 4,
    KYMO_RECORD_LABEL = 5,
    KYMO_RECORD_BACKTRACE = 6,
};

/* Why something could not be recorded: the index of a loss counter. X(name, text). */
#define KYMO_LOSS_LIST(X)                                \
    X(SAMPLE_NO_BLOCK, "samples: buffer full")           \
    X(STACK_FULL, "stacks: depot full")                  \
    X(MODULE_FULL, "modules: table full")                \
    X(THREAD_FULL, "threads: table full")                \
    X(RECORDER_GONE, "samples: recorder silent")         \
    X(CORRUPT, "records: session memory overwritten")    \
    X(NO_TIMER, "threads: no timer to be had")           \
    X(MARK_NO_BLOCK, "markers: buffer full")             \
    X(MARK_BUSY, "markers: in the middle of two others") \
    X(MARK_NO_THREAD, "markers: thread not known")       \
    X(MARK_NO_SITE, "markers: no room for their names")  \
    X(MARK_STACK, "markers: stack not taken")            \
    X(DEFINITION_FULL, "names of markers: table full")   \
    X(LABEL, "labels: buffer full")                      \
    X(COUNT, "counters: changes not counted")            \
    X(COUNTER_FULL, "counters: table full")              \
    X(LABEL_CUT, "labels: texts cut")                    \
    X(SAMPLE_BUSY, "samples: in the middle of two records")

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
    uint64_t ip, rsp, rbp, rbx, r12_to_15[4];
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
    KYMO_LABEL_POPPED = 2,  /* without key and value */
    KYMO_LABEL_WAS_SET = 3, /* the one of this key; a value of kind 0: it is no more */
};

/* A stack that later markers of any thread may have. */
struct kymo_record_backtrace {
    struct kymo_record head; /* stack: its depot id */
    uint64_t backtrace;      /* how they name it */
};

_Static_assert(sizeof(struct kymo_text_slot) == 8, "text slot");
_Static_assert(sizeof(struct kymo_record_cell) == 16, "cell");
_Static_assert(sizeof(struct kymo_record_count) == 32, "count record");
_Static_assert(sizeof(struct kymo_record_label) == 40, "label record");
_Static_assert(sizeof(struct kymo_record_backtrace) == 24, "backtrace record");
_Static_assert(sizeof(struct kymo_record_answer) == 96, "answer record");
_Static_assert(sizeof(struct kymo_record) == 16, "record header");
_Static_assert(sizeof(struct kymo_record_sample) == 24, "sample record");

#endif
