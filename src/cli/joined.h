/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined.h - an agent whose program runs already, and started it (kymo/agent.h).
 *
 * Layer:    cli
 * Flow:     start/agent.c <-> [joined], over the link of buffer/agent_link.h
 * Threads:  the only one
 * Memory:   the caller's structure
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_JOINED_H
#define KYMO_CLI_JOINED_H

#include "agent/reporting.h"
#include "launch/launch.h"

struct kymo_joined {
    int link;
    pid_t pid;
    char text[8192]; /* its command line, with NULs between */
    char *argv[64];  /* in text; NULL at its end */
    struct kymo_launch_join for_launch;
    kymo_reporting *agent;
    int is_stopped; /* it asked for the end */
    uint64_t deadline_ns;
};

/* Takes the link, and closes all other descriptors that came from the program, but that of
 * buffer/agent_report.h if there is one. KYMO_E_INVALID: fd is no such link. */
KYMO_NODISCARD
kymo_err kymo_joined_open(struct kymo_joined *joined, const char *fd, int has_reports,
                          kymo_error *detail);
/* The last word: how it ended. detail: why it failed; code KYMO_OK: it did not. */
void kymo_joined_end(struct kymo_joined *joined, const kymo_error *detail);

#endif
