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
};

/* Why something could not be recorded: the index of a loss counter. X(name, text). */
#define KYMO_LOSS_LIST(X)                             \
    X(SAMPLE_NO_BLOCK, "samples: buffer full")        \
    X(STACK_FULL, "stacks: depot full")               \
    X(MODULE_FULL, "modules: table full")             \
    X(THREAD_FULL, "threads: table full")             \
    X(RECORDER_GONE, "samples: recorder silent")      \
    X(CORRUPT, "records: session memory overwritten") \
    X(NO_TIMER, "threads: no timer to be had")

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

_Static_assert(sizeof(struct kymo_record_answer) == 96, "answer record");
_Static_assert(sizeof(struct kymo_record) == 16, "record header");
_Static_assert(sizeof(struct kymo_record_sample) == 24, "sample record");

#endif
