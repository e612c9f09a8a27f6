/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - what several commands do alike: read a recording, write a file, each with its bar and
 * its one line of error.
 *
 * Layer:    cli; above recorder, kymo/encode.h
 * Threads:  the only one
 * Memory:   the caller owns profiles
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_STEPS_H
#define KYMO_CLI_STEPS_H

#include <signal.h>

#include "cli/output.h"
#include "kymo/encode.h"
#include "kymo/profile.h"

/* Reads a recording and its symbols. What is missing of it is said in one line, too. Returns an
 * exit status; *out is set with KYMO_EXIT_OK. */
int kymo_load_recording(const char *path, int quiet, kymo_profile **out);
/* The same of one that is open; path is what it is called. is_brief: without markers. */
int kymo_load_recording_fd(int fd, const char *path, int is_brief, int quiet, kymo_profile **out);
/* The names of its code are put into the recording that fd is, open for reading and writing. What
 * cannot be named now is looked up when it is reported: failure is no more than a message. */
void kymo_store_names(int fd, const char *path, int quiet);

/* Set by a signal handler: writing stops, and what was written is removed. */
extern volatile sig_atomic_t kymo_stop_asked;

/* The words of --mode. Parsing returns 0 for a word that is none of them. */
int kymo_mode_parse(const char *word, kymo_sample_kind *kind);
const char *kymo_mode_name(kymo_sample_kind kind);

/* What a format shows that has one kind of thing only. */
struct kymo_shown {
    kymo_sample_kind kind; /* of time */
    kymo_encode_show show;
    /* As of kymo_encode_options. */
    uint64_t at_ns, from_ns, min_age_ns;
    uint32_t youngest_percent;
    uint32_t flags;
    const kymo_profile *before;
};

/* The words of --mode where files are written: of time, and of memory. */
int kymo_shown_parse(const char *word, struct kymo_shown *shown);

/* Encodes a profile into output->path. On success the size of the file is in *bytes. Returns an
 * exit status; an error is printed in one line. */
int kymo_write_output(const kymo_profile *profile, const kymo_output *output,
                      struct kymo_shown shown, int quiet, uint64_t *bytes);

#endif
