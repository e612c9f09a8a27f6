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
#include "base/key_map.h"
#include "buffer/call_units.h"
#include "buffer/definition.h"
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
    uint64_t paused_cpu_ns; /* CPU time in pauses that have ended, as far as the thread told */
    uint32_t pauses;        /* as the slot has it */
    char name[16];          /* for thread_end; empty: not known */
};

struct kymo_drain_frame {
    uint64_t address; /* in a module: pc - bias; else the pc. Not adjusted for return addresses. Of
                       * Python code: the place in its instructions, in bytes */
    uint32_t module;
    uint32_t code;          /* if is_code: its number, or KYMO_NO_CODE */
    uint8_t is_return;      /* the call lies before address */
    uint8_t is_code;        /* a Python frame */
    uint8_t is_interpreter; /* native code of the interpreter itself */
};

#define KYMO_NO_CODE UINT32_MAX

/* Code of an interpreter that a stack names. Texts end by their lengths alone. */
struct kymo_drain_code {
    uint32_t number; /* dense, from 0 */
    uint32_t minor;  /* of CPython 3 */
    uint32_t first_line;
    uint32_t name_len, file_len, lines_len;
    const char *name, *file;
    const uint8_t *lines; /* its line table; NULL: not known */
};

struct kymo_code_record;

/* Code as a record of code_area.h has it. bytes: what follows the record, as long as the record
 * says; the code points into it. */
struct kymo_drain_code kymo_drain_code_of(uint32_t number, const struct kymo_code_record *record,
                                          const char *bytes);

/* A function that traced calls name. Texts end by their lengths alone. */
struct kymo_drain_function {
    uint32_t number; /* from 1 up to KYMO_FUNCTION_NUMBER_MAX, each once */
    uint32_t language, first_line;
    uint32_t name_len, file_len;
    const char *name, *file;
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

/* A marker as it lies in its record, checked: its site is known, slots of texts and cells lie
 * within the payload (payload.h); literals, types and tracks are known; times are in ns. What made
 * no sense is absent. */
struct kymo_drain_marker {
    uint32_t thread; /* whose stream it was in */
    uint32_t site;
    uint32_t flags; /* enum kymo_mark_flags */
    uint32_t stack; /* KYMO_NO_STACK: none */
    uint64_t time_ns;
    uint64_t start_ns;
    uint64_t made_ns; /* when it was recorded, whatever time it has */
    uint64_t backtrace, track, owner, id;
    uint32_t tid; /* of the thread that it is for; 0: the one of the stream */
    uint32_t cells;
    const char *name; /* name_bytes, not terminated; NULL: the site's */
    uint32_t name_bytes;
    uint32_t name_is_cut;
    uint32_t payload_bytes; /* 0: none */
    unsigned char *payload; /* a copy, which may be changed */
};

/* A counter's sum over all threads, and what was done. */
struct kymo_drain_counter {
    uint32_t counter;
    int64_t value;
    uint64_t operations;
};

struct kymo_drain_site_counts {
    uint32_t site;
    uint64_t lost, capped, cut;
};

/* A category of markers that the program has, used or not. */
struct kymo_drain_category {
    uint32_t parent; /* its number; 0: none */
    int is_on;
    int is_quiet;
    char name[KYMO_DEFINITION_TEXT_MAX + 1];
};

struct kymo_drain_label {
    uint32_t thread;
    uint32_t change; /* enum kymo_label_change */
    uint32_t depth;
    uint64_t time_ns;
    struct kymo_record_cell value; /* of a text its kind alone */
    const char *key, *text;        /* not terminated; NULL: none */
    uint32_t key_bytes, text_bytes;
    uint32_t text_is_cut;
    /* KYMO_LABEL_INHERITED: from whom, as the program says it. */
    uint32_t recorded_as, tid;
    uint64_t fork_ns;
};

/* As kymo_drain_sink, and with its context. */
struct kymo_drain_mark_sink {
    /* A definition comes before what refers to it; bytes: a copy, of definition->size_bytes with
     * its head. */
    kymo_err (*definition)(void *context, uint32_t number, const struct kymo_definition *definition,
                           const void *bytes);
    kymo_err (*marker)(void *context, const struct kymo_drain_marker *marker);
    kymo_err (*backtrace)(void *context, uint64_t backtrace, uint32_t stack);
    kymo_err (*label)(void *context, const struct kymo_drain_label *label);
    /* Of a counter that is recorded at each change: value as in the record. */
    kymo_err (*count)(void *context, uint32_t counter, uint64_t time_ns, int64_t value,
                      uint64_t operations);
    /* A scope that was open when its thread ended, or at the end; the outermost first. */
    kymo_err (*open_scope)(void *context, uint32_t thread, uint32_t site, uint64_t start_ns);
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
    const struct kymo_drain_mark_sink *marks; /* NULL: markers are not wanted */
    const struct kymo_drain_heap_sink *heap;  /* drain_heap.h; NULL: memory is not wanted */
    /* Before the first stack that has it; may be NULL. */
    kymo_err (*code)(void *context, const struct kymo_drain_code *code);
    /* A function comes before the first call that names it. Calls come as their thread wrote them:
     * nothing in the bytes is checked. Both may be NULL. */
    kymo_err (*function)(void *context, const struct kymo_drain_function *function);
    kymo_err (*calls)(void *context, uint32_t thread, const struct kymo_call_bytes *calls);
    /* What a tracer says that the thread is called. May be NULL. */
    kymo_err (*thread_name)(void *context, uint32_t thread, uint64_t time_ns, const char *name,
                            uint32_t len);
};

struct kymo_drain_heap_sink;

typedef struct kymo_drain kymo_drain;

/* The session must have been formatted by this process with this plan, and stay mapped. */
KYMO_NODISCARD
kymo_err kymo_drain_create(struct kymo_session *session, const struct kymo_session_plan *plan,
                           const struct kymo_drain_sink *sink, kymo_drain **out);
void kymo_drain_destroy(kymo_drain *drain);
/* Times from then on are taken as they are, though they lie before the session's beginning: a
 * process may tell of what its parent began. */
void kymo_drain_since(kymo_drain *drain, uint64_t earliest_ns);

/* One round: everything published so far, up to some 8 MiB: the next one goes on there. Also moves
 * the depot on when it fills, and beats. */
KYMO_NODISCARD
kymo_err kymo_drain_round(kymo_drain *drain);
/* Whether the last round left something that was there when it began. */
int kymo_drain_is_behind(const kymo_drain *drain);

/* Tells of the slot's thread, if it is new. */
KYMO_NODISCARD
kymo_err kymo_drain_meet(kymo_drain *drain, uint32_t slot);

/* Tells the program that we live; a round does so, too. */
void kymo_drain_beat(kymo_drain *drain);

/* CPU time that the samples of the live main thread stand for, as far as they were read. */
uint64_t kymo_drain_main_weight(const kymo_drain *drain);
/* The same of the slot's thread; 0 if it has none. */
uint64_t kymo_drain_slot_weight(const kymo_drain *drain, uint32_t slot);

/* The last round, when the program is gone: as a round, and ends every thread. end_ns is when. */
KYMO_NODISCARD
kymo_err kymo_drain_finish(kymo_drain *drain, uint64_t end_ns);

/* Ends the thread in a slot that its own exit hook did not end; its tid is gone. Where much of it
 * is not read yet, a later round does. */
KYMO_NODISCARD
kymo_err kymo_drain_end_slot(kymo_drain *drain, uint32_t slot, uint64_t end_ns);
/* Whether that was said of the slot's thread. */
int kymo_drain_slot_is_gone(const kymo_drain *drain, uint32_t slot);

/* Adds the numbers of all stacks that the drain may name again. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_drain_use_stacks(const kymo_drain *drain, kymo_key_map *used);

/* The dense number of the thread whose slot this is now; UINT32_MAX if it has none. */
uint32_t kymo_drain_slot_thread(const kymo_drain *drain, uint32_t slot);

/* What threads that have not ended have counted so far. */
struct kymo_drain_counts {
    uint64_t samples, handler_ns, disturbed;
};
void kymo_drain_live_counts(const kymo_drain *drain, struct kymo_drain_counts *counts);

/* Losses by kind so far, those that the drain itself noticed included. */
void kymo_drain_losses(const kymo_drain *drain, uint64_t lost[KYMO_LOSS_KINDS]);

/* Counters as they are now, by index from 0; returns 0 behind the last one. counter->counter is 0
 * where there is none yet that the sink has been told of. */
int kymo_drain_counter(const kymo_drain *drain, uint32_t index, struct kymo_drain_counter *counter);
/* The same of the sites that have lost, capped or cut anything: counts->site is 0 for others. */
int kymo_drain_site_counts(const kymo_drain *drain, uint32_t index,
                           struct kymo_drain_site_counts *counts);

/* drain_category.c: the highest number of a definition in the session, and what is there if it is a
 * category; else 0. */
uint32_t kymo_drain_definitions(const kymo_drain *drain);
int kymo_drain_category(const kymo_drain *drain, uint32_t number,
                        struct kymo_drain_category *category);

/* Of the session's clock, by the anchors taken so far. */
uint64_t kymo_drain_time_ns(const kymo_drain *drain, uint64_t clock);

#endif
