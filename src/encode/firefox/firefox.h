/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox.h - the parts of the Firefox format, and the numbers that they use as references.
 *
 * Layer:    encode; above profile
 * Flow:     firefox_numbers.c, firefox_fields.c, firefox_tracks.c -> [firefox] ->
 *           firefox_meta.c (firefox_categories.c, firefox_schemas.c,
 *           firefox_extra.c), firefox_libs.c, firefox_shared.c,
 *           firefox_threads.c (firefox_names.c) -> firefox_samples.c, firefox_markers.c,
 *           firefox_allocations.c;
 *           firefox_counters.c -> firefox_heap_counters.c, firefox_cpu_counter.c
 * Threads:  one owner at a time
 * Memory:   owned by firefox.c
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_FIREFOX_FIREFOX_H
#define KYMO_ENCODE_FIREFOX_FIREFOX_H

#include "base/json.h"
#include "encode/encoder.h"
#include "encode/firefox/firefox_marks.h"

typedef struct kymo_firefox {
    kymo_encoder *encoder;
    const kymo_profile *p;
    kymo_json *json;
    uint32_t *lib_of; /* by module: index in libs, also of its resource */
    uint32_t lib_count;
    uint32_t *function_of; /* by function of the profile: index in funcTable */
    uint32_t function_count;
    uint8_t *is_script;    /* by function of the profile: an interpreter runs it */
    uint32_t *frame_same;  /* by frame: the first frame that looks the same in this format */
    uint32_t *frame_first; /* by frame: index in frameTable of its outermost function */
    uint32_t frame_count;
    uint32_t unnamed_count; /* frames without a function, for which one is made */
    uint32_t *stack_last;   /* by stack: index in stackTable of its innermost function */
    uint32_t stack_count;
    int lacks_stacks;
    uint8_t *string_used; /* by string: it is referenced by number */
    uint64_t start_ns;    /* of the recording, since the profile's zero */
    uint64_t end_ns;
    uint32_t *pid_turn;      /* by process: number of earlier images with its pid */
    uint32_t *told_from;     /* by process: the first argument that distinguishes it from others
                              * of the same name */
    uint32_t *told_to;       /* and the index after the last such argument */
    uint64_t *thread_weight; /* by thread: CPU time */
    uint64_t track_least_ns; /* a process that lived for this long gets a memory track */
    int has_cpu;             /* there are CPU samples */
    int is_traced;           /* of the thread whose samples are written */
    const kymo_sample_type *types; /* by sample type */
    uint32_t amount;               /* type of the weights; KYMO_NONE: they are times */
    kymo_firefox_marks marks;
} kymo_firefox;

static inline uint32_t kymo_firefox_frame_file(const kymo_profile *p, const kymo_frame *f)
{
    return f->module != KYMO_NONE ? p->module_ids.data[f->module].file : KYMO_NONE;
}

/* The address as the format can show it: relative to a lib, and exact as a JavaScript number. */
static inline uint64_t kymo_firefox_shown_address(const kymo_frame *f)
{
    return f->module != KYMO_NONE && f->address <= KYMO_FIREFOX_EXACT_MAX ? f->address
                                                                          : KYMO_NO_ADDRESS;
}

/* Number of the format's frames for a frame: one for each function, or the one made for it. */
static inline uint32_t kymo_firefox_frame_width(const kymo_frame *f)
{
    return f->line_count ? f->line_count : 1;
}

/* firefox_numbers.c: fills in the numbers, counts and weights above. KYMO_E_NOMEM; KYMO_E_TOO_BIG:
 * more rows than an index can name. */
KYMO_NODISCARD
kymo_err kymo_firefox_number(kymo_firefox *w);

/* Each writes one key of the profile and its value. JSON errors stay in w->json; functions that
 * return an error can also be interrupted. */
/* firefox_meta.c */
void kymo_firefox_put_meta(kymo_firefox *w);
/* firefox_extra.c */
void kymo_firefox_put_extra(kymo_firefox *w);
/* firefox_libs.c */
void kymo_firefox_put_libs(kymo_firefox *w);
/* firefox_shared.c */
KYMO_NODISCARD
kymo_err kymo_firefox_put_shared(kymo_firefox *w);

/* firefox_sources.c: the tables of sources in "shared". */
KYMO_NODISCARD
kymo_err kymo_firefox_put_sources(kymo_firefox *w);
/* firefox_names.c */
KYMO_NODISCARD
kymo_err kymo_firefox_number_names(kymo_firefox *w);
void kymo_firefox_key_process_name(kymo_firefox *w, const kymo_process *process);
/* The name of the process's main thread. */
void kymo_firefox_key_main_name(kymo_firefox *w, uint32_t process, const char *thread_name);

/* firefox_threads.c: an element of "threads"; the track is one of w->marks.tracks. */
KYMO_NODISCARD
kymo_err kymo_firefox_put_thread(kymo_firefox *w, uint32_t thread);
KYMO_NODISCARD
kymo_err kymo_firefox_put_track_thread(kymo_firefox *w, uint32_t track);
void kymo_firefox_key_pid(kymo_firefox *w, uint32_t process);
/* firefox_samples.c: the key of a thread. */
KYMO_NODISCARD
kymo_err kymo_firefox_put_samples(kymo_firefox *w, uint32_t thread);

#endif
