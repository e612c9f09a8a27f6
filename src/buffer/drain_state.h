/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_state.h - what is kept of one session that is drained; for the files that drain.h is made
 * of.
 *
 * Layer:    buffer (cold)
 * Flow:     drain.c (rounds, slots, streams) -> drain_stacks.c (modules, stacks, the depots),
 *           drain_marks.c (records of markers), drain_definitions.c (what those name),
 *           drain_beside.c (scopes, counters), drain_heap.c (records of memory), drain_calls.c
 *           (traced calls, and their functions)
 * Threads:  one thread drains a session
 * Memory:   owned by drain.c
 * Signals:  not for handlers
 */
#ifndef KYMO_BUFFER_DRAIN_STATE_H
#define KYMO_BUFFER_DRAIN_STATE_H

#include <stdint.h>

#include "base/vec.h"
#include "buffer/drain.h"
#include "buffer/drain_heap.h"
#include "buffer/payload.h"
#include "sys/clock.h"

/* drain_clock.c: from a session's clock to CLOCK_MONOTONIC, by pairs of both that were read at
 * once.
 *
 * A record of this round lies between the last anchor and the one of now, and the ratio of that
 * stretch is its own, whatever suspend or migration did to the counter before. What lies further
 * back (the start of a scope that ends now) lies between two older anchors: by the ratio of now, an
 * error of 100 ns in an anchor would move it by 100 ns for each round since.
 */

/* When there are so many, every second one is forgotten. */
#define KYMO_DRAIN_ANCHORS 4096u

struct kymo_drain_anchor {
    uint64_t clock, ns;
};

struct kymo_drain_clock {
    enum kymo_clock_kind kind;
    double ns_per_tick; /* since the last one of anchors */
    uint64_t first_ns;  /* nothing happened before */
    struct kymo_drain_anchor now;
    struct kymo_drain_anchor last;
    KYMO_VEC(struct kymo_drain_anchor) anchors; /* before the last one; the oldest first */
};

void kymo_drain_clock_init(struct kymo_drain_clock *c, enum kymo_clock_kind kind);
/* What happened before the session was made, but not before this, keeps its time. */
void kymo_drain_clock_since(struct kymo_drain_clock *c, uint64_t earliest_ns);
void kymo_drain_clock_deinit(struct kymo_drain_clock *c);

/* At a round's beginning: a new anchor. At its end: what comes next lies behind it. */
void kymo_drain_clock_take(struct kymo_drain_clock *c);
void kymo_drain_clock_keep(struct kymo_drain_clock *c);

/* Of something that happened: after the session was made, or what was said instead; and not in the
 * future. */
uint64_t kymo_drain_clock_ns(const struct kymo_drain_clock *c, uint64_t clock);
/* Of any time that the program speaks of. */
uint64_t kymo_drain_clock_any_ns(const struct kymo_drain_clock *c, uint64_t clock);

/* The ratio between two anchors, ns for each tick in parts of 2^-32; of now, if they are so close
 * that their errors would be most of it. */
uint64_t kymo_drain_clock_ratio(const struct kymo_drain_clock *c, struct kymo_drain_anchor from,
                                struct kymo_drain_anchor to);

/* ---- the drain ---- */

struct kymo_stream_reader {
    uint32_t block; /* number + 1; 0: none yet */
    uint32_t pos;
};

struct kymo_slot_reader {
    uint32_t generation;
    uint32_t thread; /* dense number */
    int open;
    int is_main;
    uint64_t gone_ns;    /* when it ended, whose end no hook saw; 0: it has not */
    uint64_t weight_ns;  /* of all samples that were read */
    uint64_t unknown;    /* of them, those whose weight is not known */
    uint32_t ended_laps; /* that began when it had ended, the one at hand included */
    struct kymo_stream_reader streams[KYMO_STREAMS];
    /* How far its stream of calls was when this lap began, and the one before. */
    struct kymo_stream_reader calls_now, calls_before;
    uint64_t calls_read; /* bytes of calls */
};

struct kymo_known_module {
    uint64_t map_start, map_end, bias;
    uint32_t load_generation, unload_generation;
    uint32_t number;
    int known;
    uint32_t unload_scan; /* the scan that noticed the unloading */
};

enum kymo_drain_rotation { ROTATE_IDLE, ROTATE_WAIT_PINS, ROTATE_LAST_LAP };

/* A field of a payload that is looked at before it is handed on. */
/* What is kept of a definition that the sink was told of. */
struct kymo_known_definition {
    uint32_t kind;  /* enum kymo_definition_kind; 0: not known */
    uint32_t unfit; /* 1: it makes no sense, and is not looked at again */
    uint32_t site_kind;
    uint32_t type;                   /* of a site; 0: none */
    struct kymo_payload_image image; /* of a type */
    uint32_t counter_kind;
    int counter_is_f64;
};

/* The largest record of a marker: a small block holds it. */
#define KYMO_MARK_RECORD_MAX KYMO_SMALL_BLOCK_BYTES

struct kymo_drain_marks {
    struct kymo_known_definition *known; /* by number */
    uint32_t seen;                       /* all up to this number are settled */
    uint32_t highest;                    /* that is known */
    uint64_t copied_bytes;               /* of definitions; not more than there are */
    kymo_payload_places fields;
    uint64_t record[KYMO_MARK_RECORD_MAX / 8]; /* a copy of the one that is read */
};

/* One look at all streams, in one round or several. */
struct kymo_drain_lap {
    int goes_on;        /* what the next round begins with is the rest of it */
    uint32_t slot;      /* the next one that is read */
    uint32_t slots;     /* there were so many when it began */
    uint32_t blocks;    /* of `slot`, that were read to their end */
    uint32_t scan;      /* of the modules, just before it began */
    uint64_t cut_clock; /* records of live threads that are younger are the next one's */
    /* When it began, and the two laps before. */
    struct kymo_drain_anchor anchor, anchor_before, anchor_first;
};

struct kymo_drain {
    struct kymo_session *session;
    struct kymo_session_plan plan;
    struct kymo_drain_sink sink;
    char *tables; /* one mapping: slots, block_owner, modules, numbers, codes, marks.known */
    size_t table_bytes;
    struct kymo_slot_reader *slots;
    uint32_t slots_seen;   /* of them were in use up to now; memory behind is not touched */
    uint32_t *block_owner; /* slot * KYMO_STREAMS + stream + 1; 0: none */
    struct kymo_known_module *modules;
    uint32_t modules_scanned;
    uint32_t module_changes; /* as of the last scan */
    uint32_t scan;           /* number of the last scan */
    uint32_t *numbers[2];    /* dense stack number + 1 by word offset */
    uint32_t
        stack_words[2];  /* of the depots, that stacks were read from; not more than there are */
    uint32_t *codes;     /* dense number + 1 of Python code, by word of the code area */
    uint32_t code_words; /* of that area that were read; not more than there are */
    uint32_t next_thread, next_module, next_stack, next_code;
    uint32_t epoch;
    enum kymo_drain_rotation rotation;
    struct kymo_drain_clock clock;
    uint64_t noticed[KYMO_LOSS_KINDS];
    uint64_t bytes_left;  /* that this round may still read, or a block more */
    uint32_t blocks_left; /* and to their end */
    int is_last;          /* nothing is left for another round */
    uint64_t last_clock;  /* of the record that was read last */
    struct kymo_drain_lap lap;
    KYMO_VEC(struct kymo_drain_frame) frames;
    struct kymo_drain_marks marks;
    struct kymo_drain_heap_totals heap_ended; /* of threads that have ended */
    KYMO_VEC(uint8_t) functions;              /* by number, a bit: the sink was told of it */
    KYMO_VEC(char) calls;                     /* scratch: bytes of a block */
};

/* ---- drain.c ---- */

/* How many slots were ever in use. */
uint32_t kymo_drain_touched_slots(kymo_drain *d);

/* ---- drain_stacks.c ---- */

/* Tells of modules that came and went. */
KYMO_NODISCARD
kymo_err kymo_drain_scan_modules(kymo_drain *d);
/* Everything published before the scan has been read: entries whose unloading it noticed may be
 * revived. */
void kymo_drain_release_modules(kymo_drain *d, uint32_t scan);
/* The number of a stack by its id in the depot; the first time, it is handed on. KYMO_NO_STACK if
 * it makes no sense. */
KYMO_NODISCARD
kymo_err kymo_drain_find_code(kymo_drain *d, uint64_t word, struct kymo_drain_frame *frame);
KYMO_NODISCARD
kymo_err kymo_drain_read_stack(kymo_drain *d, uint32_t id, uint32_t *number);
/* Called before the slots are read, so that ROTATE_LAST_LAP means: a whole lap of reading follows
 * the moment at which no thread was left in the old epoch. begins: a lap does. */
void kymo_drain_rotate_depot(kymo_drain *d, int begins);

/* ---- drain_definitions.c ---- */

/* Tells of all definitions that are published by now. */
KYMO_NODISCARD
kymo_err kymo_drain_scan_definitions(kymo_drain *d);
/* The definition of this number, told now if it was not; *out is NULL if it is not there, makes no
 * sense or is of another kind. */
KYMO_NODISCARD
kymo_err kymo_drain_find_definition(kymo_drain *d, uint64_t number, enum kymo_definition_kind kind,
                                    const struct kymo_known_definition **out);

/* ---- drain_marks.c ---- */

/* A record at `at`, in memory that the program may write to, of one of the kinds of markers. */
KYMO_NODISCARD
kymo_err kymo_drain_read_mark(kymo_drain *d, uint32_t thread, uint32_t kind, const char *at,
                              uint32_t size);

/* ---- drain_heap.c ---- */

/* The same of one of the kinds of memory. */
KYMO_NODISCARD
kymo_err kymo_drain_read_heap(kymo_drain *d, uint32_t thread, uint32_t kind, const char *at,
                              uint32_t size);
/* The slot's thread has ended. */
void kymo_drain_end_heap(kymo_drain *d, const struct kymo_thread_slot *slot);

/* ---- drain_calls.c ---- */

/* A record of a function. */
KYMO_NODISCARD
kymo_err kymo_drain_read_function(kymo_drain *d, const char *at, uint32_t size);
/* The same of a thread's name. */
KYMO_NODISCARD
kymo_err kymo_drain_read_name(kymo_drain *d, uint32_t thread, const char *at, uint32_t size);
/* Whether the thread has a stream of calls. */
int kymo_drain_has_calls(const kymo_drain *d, uint32_t slot);
/* A lap begins: notes how far the slot's stream of calls is, and whether its thread has ended. */
void kymo_drain_note_calls(kymo_drain *d, uint32_t slot);
/* The calls in the reader's block from its place to head. is_live: what was there when the lap
 * before began, and no more; *is_cut: there may be more in the block. */
KYMO_NODISCARD
kymo_err kymo_drain_read_calls(kymo_drain *d, struct kymo_slot_reader *slot, const char *block,
                               uint32_t head, int is_live, int *is_cut);

/* ---- drain_beside.c ---- */

/* The scopes that a slot's thread has left open; for its end. */
KYMO_NODISCARD
kymo_err kymo_drain_read_scopes(kymo_drain *d, uint32_t slot);

#endif
