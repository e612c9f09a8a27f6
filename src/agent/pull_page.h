/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull_page.h - what the HTTP server knows of the agent: figures in memory that both share.
 *
 * Layer:    agent
 * Flow:     agent.c (each round) -> [page] -> pull_server.c, pull_text.c
 * Threads:  one writer, the agent's; any readers, in the server's process
 * Memory:   a shared mapping, the agent's
 * Signals:  not for handlers
 *
 * The writer never waits. `turn` is odd while it writes; a reader that sees it change reads again.
 */
#ifndef KYMO_AGENT_PULL_PAGE_H
#define KYMO_AGENT_PULL_PAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/settings.h"

#define KYMO_PULL_REASON_MAX sizeof(((kymo_error *)0)->message)

struct kymo_pull_reporter {
    uint64_t delivered, failures, dropped;
    uint64_t last_ns; /* CLOCK_REALTIME; 0: none */
};

struct kymo_pull_figures {
    pid_t program; /* 0: not started yet */
    uint64_t start_realtime_ns;
    uint64_t intervals, empty, broken, waiting;
    uint64_t lost_records, samples, handler_ns; /* of intervals that are encoded */
    uint64_t server_starts;
    struct kymo_pull_reporter reporters[KYMO_AGENT_REPORTERS];
    char reason[KYMO_PULL_REASON_MAX]; /* of the last failure; "": there was none */
};

struct kymo_pull_page {
    uint32_t turn;
    uint32_t is_ending; /* the program has ended: the server ends when it has answered */
    uint32_t is_busy;   /* the server makes a profile: written by it, and at its start */
    struct kymo_pull_figures figures;
};

void kymo_pull_page_write(struct kymo_pull_page *page, const struct kymo_pull_figures *figures);
void kymo_pull_page_read(const struct kymo_pull_page *page, struct kymo_pull_figures *figures);

#endif
