/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox.h - the two halves of the Firefox format: what a profile is about, and its tables.
 *
 * Layer:    encode; above profile
 * Flow:     firefox.c -> [firefox] <- firefox_meta.c
 * Threads:  one owner at a time
 * Memory:   owned by firefox.c
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_FIREFOX_H
#define KYMO_ENCODE_FIREFOX_H

#include "encode/encoder.h"
#include "encode/json.h"

typedef struct kymo_firefox {
    kymo_encoder *encoder;
    const kymo_profile *p;
    kymo_json *json;
    uint32_t *lib_of; /* by module: index in libs, which is its resource, too */
    uint32_t lib_count;
    uint32_t *function_of; /* by function of the profile: index in funcTable */
    uint32_t function_count;
    uint32_t *frame_same;  /* by frame: the first frame that looks the same in this format */
    uint32_t *frame_first; /* by frame: index in frameTable of its outermost function */
    uint32_t frame_count;
    uint32_t unnamed_count; /* frames that have a function made up for them */
    uint32_t *stack_last;   /* by stack: index in stackTable of its innermost function */
    uint32_t stack_count;
    int lacks_stacks;
    uint64_t start_ns; /* of the recording, since the profile's zero */
    uint64_t end_ns;
    uint32_t *pid_turn;      /* by process: how many images had its pid before */
    uint64_t *thread_weight; /* by thread: CPU time */
    int has_cpu;             /* there are CPU samples */
} kymo_firefox;

/* firefox_meta.c */
void kymo_firefox_meta(kymo_firefox *w);
void kymo_firefox_libs(kymo_firefox *w);

#endif
