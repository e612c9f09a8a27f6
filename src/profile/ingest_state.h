/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_state.h - state of an ingest between two events; for the files that implement ingest.h.
 *
 * Layer:    profile
 * Flow:     ingest.c (the recording) -> ingest_processes.c, ingest_modules.c -> ingest_stacks.c
 *           -> ingest_samples.c, the files of ingest_marks.h and ingest_heap.h -> ingest_finish.c
 * Threads:  the ingest's
 * Memory:   vectors, and texts in the ingest's arena; kymo_ingest_destroy frees all of it
 * Signals:  not for handlers
 */
#ifndef KYMO_PROFILE_INGEST_STATE_H
#define KYMO_PROFILE_INGEST_STATE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/sum.h"
#include "base/vec.h"
#include "profile/code_map.h"
#include "profile/ingest.h"
#include "profile/ingest_calls.h"
#include "profile/ingest_heap.h"
#include "profile/ingest_marks.h"
#include "profile/kernel_frames.h"
#include "profile/stored_symbols.h"

/* How the outermost end of a stack was found. */
enum kymo_ingest_root {
    KYMO_INGEST_ROOT_ENTRY,      /* the thread's real entry */
    KYMO_INGEST_ROOT_TRUNCATED,  /* cut at the depth limit */
    KYMO_INGEST_ROOT_INCOMPLETE, /* the unwinder could not go on */
    KYMO_INGEST_ROOT_COUNT
};
/* Paths: for each root, stacks without script frames, and stacks with them. */
#define KYMO_INGEST_PATHS (2 * KYMO_INGEST_ROOT_COUNT)

struct kymo_ingest_path {
    uint32_t root;   /* stack id that the stack hangs below; KYMO_NONE: none */
    uint32_t valid;  /* so many nodes are valid: those of the last stack event's outermost frames */
    uint32_t *node;  /* by depth from outside: stack id */
    uint32_t folded; /* so many outermost frames lie outside of the innermost script frame */
    uint32_t above;  /* so many outermost frames are none of the stack's */
};

struct kymo_ingest_loss {
    uint32_t kind;
    uint64_t count;
    const char *name;
};

struct kymo_ingest_process {
    KYMO_VEC(struct kymo_ingest_loss) losses; /* at most KYMO_LOST_MAX kinds */
    kymo_event_quality quality;
    uint64_t end_ns;
    uint64_t trace_end_ns;    /* when its calls were traced no more; 0: they were to the end */
    uint64_t cpu_ns;          /* of wait4; 0: not known */
    uint64_t fit_ns, open_ns; /* of its threads, and of those without a clock (ingest_fit.c) */
    int32_t wait_status;
};

struct kymo_ingest_thread {
    const char *name; /* NULL: unchanged since the begin */
    uint64_t end_ns;
    uint64_t cpu_ns;
    uint64_t tail_ns;
    uint64_t weight_ns;     /* sum of CPU samples */
    uint64_t fit_ns;        /* what that is to be (ingest_fit.c) */
    uint64_t unknown;       /* CPU samples of unknown weight */
    uint64_t wall_ns;       /* sum of wall samples */
    uint64_t stackless;     /* wall samples of the running thread that have no stack */
    uint64_t startup_ns;    /* weight of its process's start */
    kymo_event_sample held; /* the newest CPU sample, held back; time_ns 0: none */
    kymo_event_dropped dropped;
    uint32_t by_tick;
};

struct kymo_ingest_module {
    uint32_t id; /* in the profile */
    uint8_t ours;
    uint8_t makes_stacks; /* threads of its own kind begin in it */
};

struct kymo_ingest_stack {
    uint32_t id; /* in the profile */
    uint32_t complete;
    uint32_t has_python;
};

struct kymo_ingest {
    kymo_profile *profile;
    kymo_arena arena; /* owns texts, texts of notes, images */
    kymo_meta meta;
    const char *engine_reason;
    const char *options;
    uint32_t hz;
    int clean;
    int skips_markers;
    int keeps_interpreter;
    uint64_t last_ns; /* the latest time seen */

    KYMO_VEC(struct kymo_ingest_process) processes;
    KYMO_VEC(struct kymo_ingest_thread) threads;
    KYMO_VEC(struct kymo_ingest_module) modules; /* by number in the recording */
    kymo_index module_index;                     /* of `modules`, by what identifies a mapping */
    KYMO_VEC(struct kymo_ingest_stack) stacks;
    KYMO_VEC(const char *) waits; /* by number - 1: name of the wait */
    /* By wait and whether it blocks: the frame of the wait; KYMO_NONE: not made yet. */
    KYMO_VEC(uint32_t) wait_frames;
    uint32_t startup_stack; /* in the profile: of starts of processes; KYMO_NONE: there is none */
    struct kymo_ingest_path paths[KYMO_INGEST_PATHS];
    KYMO_VEC(uint32_t) scripts;       /* by number: function */
    KYMO_VEC(uint8_t) native_scripts; /* by number: 1: native code that a script calls */
    kymo_code_map code;
    kymo_kernel_frames kernel;
    kymo_stored_symbols stored;
    struct kymo_ingest_marks marks;
    struct kymo_ingest_heap heap;
    struct kymo_ingest_calls calls;
    KYMO_VEC(kymo_ingest_note) notes;
    KYMO_VEC(kymo_ingest_image) images;
    uint32_t main_process; /* KYMO_NONE: not known yet */

    kymo_event_dropped dropped; /* of all threads, and of samples without a thread */
    uint64_t cpu_samples;
    uint64_t wall_samples;
    uint64_t samples;
    uint64_t complete_samples; /* of all samples, those with a complete stack */
    uint64_t python_samples;   /* likewise, with functions of Python */
};

static inline void kymo_ingest_see_time(kymo_ingest *in, uint64_t time_ns)
{
    if (time_ns > in->last_ns)
        in->last_ns = time_ns;
}

/* The profile's stack for a stack of the recording, or KYMO_NONE for KYMO_NONE. The id is valid. */
static inline uint32_t kymo_ingest_stack_id(const kymo_ingest *in, uint32_t stack)
{
    return stack == KYMO_EVENT_NONE ? KYMO_NONE : in->stacks.data[stack].id;
}

static inline int kymo_ingest_has_stack(const kymo_ingest *in, uint32_t stack)
{
    return stack == KYMO_EVENT_NONE || stack < in->stacks.len;
}

/* ingest.c: a copy that lives as long as the ingest; NULL for NULL and for "". */
KYMO_NODISCARD
kymo_err kymo_ingest_copy_text(kymo_ingest *in, const char *text, const char **out);

#define KYMO_INGEST_QUOTE 160 /* bytes */
/* ingest.c: the beginning of a text, as much as a note has room for, cut after a whole
 * character; NULL is "". */
const char *kymo_ingest_quote(const char *text, char out[KYMO_INGEST_QUOTE]);

/* A string of the profile; NULL is "". */
KYMO_NODISCARD
kymo_err kymo_ingest_add_string(kymo_ingest *in, const char *text, uint32_t *string);

/* ingest_stacks.c: a frame that shows a name chosen by Kymo. */
KYMO_NODISCARD
kymo_err kymo_ingest_make_label(kymo_ingest *in, const char *name, kymo_category category,
                                uint32_t *frame);

/* ingest_samples.c: adds the sample to the profile. */
KYMO_NODISCARD
kymo_err kymo_ingest_add_sample(kymo_ingest *in, uint32_t thread, const kymo_event_sample *s);

/* ingest_fit.c: what the weights of each thread are to add up to; all events have been taken. */
void kymo_ingest_fit_weights(kymo_ingest *in);

/* The functions of kymo_ingest_handler, one per event; ctx is the ingest. */
#define X(name, type) kymo_err kymo_ingest_on_##name(void *ctx, const kymo_event_##type *e);
KYMO_EVENT_LIST(X)
#undef X

#endif
