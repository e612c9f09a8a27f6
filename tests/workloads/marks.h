/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h - a program that makes markers, counters and labels of every kind, and says what it made:
 * one JSON object on standard output, which tests compare with the recording.
 */
#ifndef KYMO_TESTS_MARKS_H
#define KYMO_TESTS_MARKS_H

#include "kymo/marker.h"
#include "workload.h"

KYMO_CATEGORY(plain, "Plain", BLUE);
KYMO_SUBCATEGORY(part, plain, "Part");
KYMO_CATEGORY(hush, "Hush", RED);
KYMO_CATEGORY_QUIET(quiet, "Quiet", GREY);

/* The numberth of its thread. */
#define NUMBERED(F)                      \
    F(u32, stream, "Stream", INTEGER, 0) \
    F(u32, number, "Number", INTEGER, 0) \
    F(u64, check, "Check", HEXADECIMAL, 0)
KYMO_TYPE(numbered, "Numbered", NUMBERED, KYMO_ALL_LABELS(numbered, "", stream, ".", number));
#define NUMBERED_CHECK(stream, number) (((uint64_t)(stream) << 32 | (number)) ^ 0x5a5a5a5a5a5a5a5au)

/* Each prints its own truth. */
void marks_kinds(void);              /* marks_kinds.c: one of everything */
void marks_options(void);            /* marks_kinds.c: times, threads, tracks, stacks, names */
void marks_handlers(uint32_t count); /* marks_places.c: in signal handlers */
void marks_fork(void);               /* in forked children */
void marks_labels_fork(void);        /* with labels */
void marks_plugins(uint32_t count);  /* in libraries that come and go */
void marks_killed(void);             /* and dead, with scopes open */
void marks_thread_ends(void);        /* a thread ends with a scope open */
void marks_exec(uint32_t count);     /* marks_edges.c: before an exec and behind it */
void marks_vfork(uint32_t count);    /* in a child of vfork */
void marks_stream(uint32_t count, uint32_t stream); /* what these call exec for */
void marks_past_end(const char *path); /* while markers are on, and says when that ended */
void marks_sites(uint32_t count);      /* at so many places */

#endif
