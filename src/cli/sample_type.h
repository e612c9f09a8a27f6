/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_type.h - which sample type --mode asks for of a file of another profiler.
 *
 * Layer:    cli; above kymo/profile.h
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 *
 * Of a recording, --mode takes words that are known before it is read. Other files have their own
 * types, whose names are words of --mode, too; live and alloc are those of their heap.
 */
#ifndef KYMO_CLI_SAMPLE_TYPE_H
#define KYMO_CLI_SAMPLE_TYPE_H

#include <stdint.h>

#include "kymo/profile.h"

/* Whether the profile is of another profiler's file. */
int kymo_is_imported(const kymo_profile *profile);
/* Whether markers were read from the file; else says that they were not: those of other profilers'
 * files are not, whether there are some or none. */
int kymo_has_markers(const kymo_profile *profile, const char *file);
/* Whether a word of --mode, or NULL, is a heap's in files of other profilers: live, alloc,
 * inuse_space and the like. */
int kymo_is_heap_type(const char *word);
/* The type of this name, or KYMO_NONE. */
uint32_t kymo_sample_type_of(const kymo_profile *profile, const char *name);
/* Whether the recording has time of this kind; else says that it has not. Other profilers' files
 * have what they have. */
int kymo_has_kind(const kymo_profile *profile, const char *file, uint32_t kind);
/* The types of two files that diff compares. word: of --mode; NULL: none. It says the type of the
 * file that has it; without it the default one of the first file is taken. Of the other file it is
 * the one of that name, else the only one of the same unit and meaning, else its default one. Types
 * of different units are for is_by_total alone: shares are compared. Returns 0 after a line that
 * says why there are none, and what to do. */
int kymo_sample_types_choose(const kymo_profile *const profiles[2], char *const files[2],
                             const char *word, int is_by_total, uint32_t types[2]);
/* The type that a word of --mode asks for; NULL: the default one. Returns 0 after a line that says
 * which types the file has. */
int kymo_sample_type_choose(const kymo_profile *profile, const char *file, const char *word,
                            uint32_t *type);

#endif
