/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h - reads a live session into a sink.
 *
 * Layer:    buffer (cold)
 * Flow:     session -> [drain] -> recorder: the .kymo file
 * Threads:  one thread drains a session
 * Memory:   its own tables from malloc, sized by the plan
 * Signals:  not for handlers
 *
 * The session is hostile: the program can write anything anywhere in it at any time. Everything is
 * copied before it is looked at, every index is bounded, no index is read twice, and each round
 * does a bounded amount of work. What makes no sense is counted under KYMO_LOSS_CORRUPT.
 */
#ifndef KYMO_BUFFER_DRAIN_H
#define KYMO_BUFFER_DRAIN_H

#include <stdint.h>

#include "base/error.h"
#include "buffer/session.h"

#define KYMO_NO_MODULE UINT32_MAX
#define KYMO_NO_STACK UINT32_MAX

/* Numbers of threads, modules and stacks are dense, from 0, in order of appearance. */
struct kymo_drain_thread {
    uint32_t thread;
    uint32_t tid;
    uint32_t flags; /* enum kymo_slot_flags */
    uint64_t start_ns;
    uint64_t end_ns;      /* for thread_end */
    uint64_t end_cpu_ns;  /* 0: unknown */
    uint64_t last_cpu_ns; /* the sum of its samples' weights */
    uint64_t unknown;     /* how many samples have a weight that is not known, and is 0 */
    uint64_t samples, handler_ns, disturbed;
    char name[16]; /* for thread_end; empty: not known */
};

struct kymo_drain_frame {
    uint64_t address; /* in a module: pc - bias; else the pc. Not adjusted for return addresses */
    uint32_t module;
    uint32_t is_return; /* the call lies before address */
};

struct kymo_drain_sample {
    uint32_t thread;
    uint32_t stack;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t weight_ns;
};

/* What a thread answered that was asked for its stack. */
struct kymo_drain_answer {
    uint32_t thread;
    uint32_t stack;
    uint64_t time_ns;
    struct kymo_record_answer record;
};

/* Each callback may fail; the round then ends with its error. All pointers are valid during the
 * call only. */
struct kymo_drain_sink {
    kymo_err (*thread_begin)(void *context, const struct kymo_drain_thread *thread);
    kymo_err (*thread_end)(void *context, const struct kymo_drain_thread *thread);
    kymo_err (*module)(void *context, uint32_t module, const struct kymo_module_entry *entry,
                       uint64_t seen_ns);
    kymo_err (*module_unload)(void *context, uint32_t module, uint64_t time_ns);
    kymo_err (*stack)(void *context, uint32_t stack, uint32_t flags,
                      const struct kymo_drain_frame *frames, uint32_t n);
    kymo_err (*sample)(void *context, const struct kymo_drain_sample *sample);
    void *context;
    kymo_err (*answer)(void *context, const struct kymo_drain_answer *answer); /* may be NULL */
};

typedef struct kymo_drain kymo_drain;

/* The session must have been formatted by this process with this plan, and stay mapped. */
KYMO_NODISCARD
kymo_err kymo_drain_create(struct kymo_session *session, const struct kymo_session_plan *plan,
                           const struct kymo_drain_sink *sink, kymo_drain **out);
void kymo_drain_destroy(kymo_drain *drain);

/* One round: everything published so far. Also moves the depot on when it fills, and beats. */
KYMO_NODISCARD
kymo_err kymo_drain_round(kymo_drain *drain);

/* Tells the program that we live; a round does so, too. */
void kymo_drain_beat(kymo_drain *drain);

/* CPU time that the samples of the live main thread stand for, as far as they were read. */
uint64_t kymo_drain_main_weight(const kymo_drain *drain);

/* The last round, when the program is gone: as a round, and ends every thread. end_ns is when. */
KYMO_NODISCARD
kymo_err kymo_drain_finish(kymo_drain *drain, uint64_t end_ns);

/* Ends the thread in a slot that its own exit hook did not end; its tid is gone. */
KYMO_NODISCARD
kymo_err kymo_drain_end_slot(kymo_drain *drain, uint32_t slot, uint64_t end_ns);

/* The dense number of the thread whose slot this is now; UINT32_MAX if nobody's. */
uint32_t kymo_drain_slot_thread(const kymo_drain *drain, uint32_t slot);

/* Losses by kind so far, those that the drain itself noticed included. */
void kymo_drain_losses(const kymo_drain *drain, uint64_t lost[KYMO_LOSS_KINDS]);

/* Of the session's clock, by the anchors taken so far. */
uint64_t kymo_drain_time_ns(const kymo_drain *drain, uint64_t clock);

#endif
