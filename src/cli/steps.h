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
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/output.h"
#include "kymo/encode.h"
#include "kymo/profile.h"
#include "kymo/report.h"
#include "symbolize/finish.h"
#include "views/terminal.h"

/* Reads a recording and its symbols, or a file of another profiler (kymo/import.h). What is missing
 * of it is said in one line, too. Returns an exit status; *out is set with KYMO_EXIT_OK. */
int kymo_load_profile(const char *path, const kymo_load_how *how, int quiet, kymo_profile **out);
/* The same of a recording that is open; path is what it is called. is_brief: without markers. */
int kymo_load_recording_fd(int fd, const char *path, int is_brief, int quiet, kymo_profile **out);
/* The names of its code are put into the recording that fd is, open for reading and writing. What
 * cannot be named now is looked up when it is reported: failure is no more than a message. */
void kymo_store_names(int fd, const char *path, int quiet);

/* Set by a signal handler: writing stops, and what was written is removed. */
extern volatile sig_atomic_t kymo_stop_asked;

/* The words of --mode. Parsing returns 0 for a word that is none of them. */
int kymo_mode_parse(const char *word, kymo_sample_kind *kind);
const char *kymo_mode_name(kymo_sample_kind kind);
/* The words of --by where markers are shown. Parsing returns 0 for a word that is none of them. */
int kymo_marker_by_parse(const char *word, kymo_marker_report_by *by);
const char *kymo_marker_by_name(kymo_marker_report_by by);
#define KYMO_MARKER_BY_WORDS "name, category, type or thread"

/* What a format shows that has one kind of thing only. */
struct kymo_shown {
    kymo_sample_kind kind; /* of time */
    kymo_encode_show show;
    /* As of kymo_encode_options. */
    uint64_t at_ns, from_ns, min_age_ns;
    uint32_t youngest_percent;
    uint32_t flags;
    const kymo_profile *before;
    uint32_t before_kind;
};

/* The words of --mode where files are written: of time, and of memory. */
int kymo_shown_parse(const char *word, struct kymo_shown *shown);

/* Encodes a profile into output->path. On success the size of the file is in *bytes. Returns an
 * exit status; an error is printed in one line. */
int kymo_write_output(const kymo_profile *profile, const kymo_output *output,
                      struct kymo_shown shown, int quiet, uint64_t *bytes);

/* ---- progress.c: a bar on the terminal for work that takes more than a second ---- */

typedef struct kymo_progress {
    kymo_terminal terminal;
    const char *what;  /* of the step at work */
    uint64_t start_ns; /* of the step */
    uint64_t drawn_ns; /* when the bar was drawn last; 0: it is not there */
    int silent;
} kymo_progress;

/* Shows nothing when quiet, or when standard error is no terminal. */
void kymo_progress_init(kymo_progress *p, int quiet);
/* A new step ("reading symbols"); its name is borrowed. */
void kymo_progress_start(kymo_progress *p, const char *what);
/* fraction from 0 to 1, bytes written so far (0: not shown). Cheap enough to call often. */
void kymo_progress_update(kymo_progress *p, double fraction, uint64_t bytes);
/* Wipes the bar away; before any other output to standard error. */
void kymo_progress_end(kymo_progress *p);

/* foreign_file.c: recognises files of formats that are not read. */

/* What a file is that begins with these bytes, and what to do with it: "a Firefox profile; open it
 * at https://profiler.firefox.com". Static text; NULL where it is not known. Compressed data is
 * looked into. */
const char *kymo_foreign_name(const void *head, size_t len);

/* One line on standard error for a file that is not read: which format it is, what to do, and
 * what the command reads instead. The file is fd, or if that is -1 the one of this path. Returns 0
 * and says nothing for one that is not known, and for a pipe, which can be read once only. */
int kymo_foreign_say(int fd, const char *path);

#endif
