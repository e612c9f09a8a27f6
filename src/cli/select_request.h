/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select_request.h - which part of a profile report, convert and diff are asked for, in words.
 *
 * Layer:    cli; above select
 * Flow:     arguments -> [select_request] -> select/select.h -> views/, encode/
 * Threads:  the only one
 * Memory:   words point into argv; deinit frees the rest
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_SELECT_REQUEST_H
#define KYMO_CLI_SELECT_REQUEST_H

#include "base/str.h"
#include "cli/command.h"
#include "select/select.h"
#include "symbolize/finish.h"
#include "views/report_selection.h"

struct kymo_select_request {
    unsigned command; /* KYMO_IN_*: whose errors they are */
    kymo_selection selection;
    kymo_load_how load;                     /* how the file is read before a part is taken */
    const char *from, *to, *focus, *ignore; /* as typed; NULL: not given */
    regex_t focus_regex, ignore_regex;
    kymo_str options; /* all of them as typed, once the request is finished */
};

/* What a command shows, as far as it matters to what may be selected. */
enum kymo_select_use {
    KYMO_SELECT_FOR_STACKS,  /* time, allocations: any part */
    KYMO_SELECT_FOR_MARKERS, /* they have no functions */
    KYMO_SELECT_FOR_LEDGER,  /* of whole processes at their end and at their peak */
    KYMO_SELECT_FOR_QUALITY, /* of the whole recording */
};

void kymo_select_request_init(struct kymo_select_request *request, unsigned command);
void kymo_select_request_deinit(struct kymo_select_request *request);

/* Takes --from, --to, --thread, --process, --focus, --ignore, --min-duration. Returns -1 to go on,
 * else an exit status; *is_known: whether it was one of them. */
int kymo_select_request_switch(struct kymo_select_request *request, const kymo_arg *arg,
                               int *is_known);
/* After the last one: what does not go together is said. As above. */
int kymo_select_request_finish(struct kymo_select_request *request, enum kymo_select_use use);
/* A moment of the heap must be in the range. at_ns: since the recording's start; KYMO_HEAP_END: its
 * end. As above. */
int kymo_select_request_check_moment(const struct kymo_select_request *request, uint64_t at_ns);
/* Whether any was given. */
int kymo_select_request_is_given(const struct kymo_select_request *request);

/* The part that is asked for, for the caller to destroy; NULL: all of it was asked for, and there
 * is no sanitizer. sanitizer: see kymo_select; NULL: none. Returns -1 to go on, else an exit status
 * after one line that says why nothing can be selected. */
int kymo_select_request_apply(const struct kymo_select_request *request, const char *file,
                              const kymo_profile *whole, kymo_sanitizer *sanitizer,
                              kymo_profile **part);

/* The same words for a report of a part; counted and type are left for the caller to set. */
kymo_report_selection kymo_select_request_view(const struct kymo_select_request *request,
                                               const kymo_profile *whole, const kymo_profile *part);

#endif
