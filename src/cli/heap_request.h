/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_request.h - what report and diff are asked about memory, in words.
 *
 * Layer:    cli
 * Flow:     arguments -> [heap_request] -> cmd_report.c, cmd_diff.c -> kymo/report.h
 * Threads:  the only one
 * Memory:   words point into argv
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_HEAP_REQUEST_H
#define KYMO_CLI_HEAP_REQUEST_H

#include "cli/command.h"
#include "kymo/report.h"

struct kymo_heap_request {
    const char *mode;                 /* NULL: not about memory */
    int is_ledger;                    /* mode memory */
    const char *by;                   /* its word, once it was parsed */
    kymo_heap_report_options options; /* at_ns: since the recording's start, until it is moved */
    int has_at, has_age, has_within, has_all_frames;
};

void kymo_heap_request_init(struct kymo_heap_request *request);

/* Takes a word of --mode; 0: it is none of these. */
int kymo_heap_request_mode(struct kymo_heap_request *request, const char *word);
/* Takes --at, --min-age, --ignore-youngest, --within, --all-frames. Returns -1 to go on, else an
 * exit status; *is_known: whether it was one of them. */
int kymo_heap_request_switch(struct kymo_heap_request *request, unsigned command,
                             const kymo_arg *arg, int *is_known);
/* word NULL: the mode's own. What does not go together is said. As above. */
int kymo_heap_request_finish(struct kymo_heap_request *request, unsigned command, const char *word);

/* A time with its unit; as above. */
int kymo_heap_request_time(unsigned command, const char *option, const char *text, uint64_t *ns);

/* The options for this recording: times are its clock's. */
kymo_heap_report_options kymo_heap_request_options(const struct kymo_heap_request *request,
                                                   const kymo_profile *profile);

/* Whether allocations were recorded; if not, one line on standard error says so. */
int kymo_heap_was_recorded(const kymo_profile *profile, const char *file);

#endif
