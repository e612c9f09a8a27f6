/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - what an agent is asked for, beside what is recorded.
 *
 * Layer:    agent
 * Flow:     command line, KYMO_OPTIONS -> [settings] -> agent.c
 * Threads:  one owner
 * Memory:   the caller's structure
 * Signals:  not for handlers
 */
#ifndef KYMO_AGENT_SETTINGS_H
#define KYMO_AGENT_SETTINGS_H

#include "agent/listen.h"
#include "agent/metadata.h"
#include "agent/pull_request.h"
#include "agent/reporter.h"
#include "options/options.h"

#define KYMO_AGENT_REPORTERS 8u
#define KYMO_AGENT_SPOOL_MAX 4096u

struct kymo_agent_settings {
    kymo_options recording;
    uint64_t interval_ns;
    uint64_t deadline_ns;             /* how long the last profiles may take */
    uint64_t spool_bytes;             /* of profiles that wait for one reporter */
    char spool[KYMO_AGENT_SPOOL_MAX]; /* the folder of unnamed files; "": TMPDIR or /tmp */
    char extension[16];  /* format= before any reporter: of all; "": each reporter's own */
    int split_processes; /* a profile for each process, not one of all */
    int no_metadata;     /* where the program runs is not looked for */
    struct kymo_metadata labels;
    struct kymo_reporter reporters[KYMO_AGENT_REPORTERS];
    uint32_t n_reporters;
    struct kymo_listen listen; /* where profiles can be asked for */
    char token_path[KYMO_AGENT_SPOOL_MAX];
    char token[KYMO_PULL_TOKEN_MAX]; /* read by check; "": none is needed */
};

/* The defaults: recording at a low cost, doc/agent.md says which and why. */
void kymo_agent_settings_init(struct kymo_agent_settings *settings);
/* Sets one of the agent's own: report, reporter, format, keep, keep-bytes, keep-age, metadata,
 * label, split, spool, spool-bytes, deadline, listen, listen-token. format and keep are of the
 * reporter before them; format before any reporter is of all. KYMO_E_NOT_FOUND: it is none of
 * these. detail is one line. */
KYMO_NODISCARD
kymo_err kymo_agent_settings_set(struct kymo_agent_settings *settings, const char *name,
                                 const char *value, kymo_error *detail);
/* The content of KYMO_OPTIONS: settings of the agent's and of the recording's. "%2C" in a value is
 * a comma; the word "agent" sets nothing. */
KYMO_NODISCARD
kymo_err kymo_agent_settings_parse(struct kymo_agent_settings *settings, const char *list,
                                   kymo_error *detail);
/* Whether where the program runs has to be found out: a reporter on the network wants it. */
int kymo_agent_settings_want_metadata(const struct kymo_agent_settings *settings);
/* When all are set: whether the agent can work with them. */
KYMO_NODISCARD
kymo_err kymo_agent_settings_check(struct kymo_agent_settings *settings, kymo_error *detail);

#endif
