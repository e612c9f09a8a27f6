/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull.h - keeps an HTTP server for an agent: its socket, its process, and what it knows.
 *
 * Layer:    agent
 * Flow:     agent.c -> [pull] -> pull_server.c, in a worker
 * Threads:  the agent's
 * Memory:   the caller's structure, which must stay where it is; a shared page
 * Signals:  not for handlers
 *
 * The server has a process of its own, so slow clients cost the recorder nothing, and a crash ends
 * nothing: it is started again, after a pause that doubles from 100 ms to 10 s. The socket is the
 * agent's, so clients wait meanwhile and the port stays.
 */
#ifndef KYMO_AGENT_PULL_H
#define KYMO_AGENT_PULL_H

#include "agent/deliver.h"
#include "agent/pull_page.h"

#define KYMO_PULL_FIRST_PAUSE_NS 100000000ull
#define KYMO_PULL_LONGEST_PAUSE_NS 10000000000ull

/* What the server works with, in its process. */
struct kymo_pull_work {
    const struct kymo_agent_settings *settings;
    struct kymo_pull_page *page;
    int listener;
    pid_t recorder;
    const char *name;       /* of its address */
    char *const *argv;      /* of the program, in case it cannot be read there */
    const char *executable; /* the last part of the program's path */
};

struct kymo_pull {
    const struct kymo_deliver_workers *workers;
    struct kymo_pull_work work;
    struct kymo_listen listen;
    struct kymo_pull_page *page; /* NULL: there is no server */
    struct kymo_worker worker;
    int is_running;
    uint64_t starts;
    uint64_t started_ns;
    uint64_t pause_ns;
    uint64_t next_ns; /* no start before */
    char name[KYMO_LISTEN_NAME_MAX];
};

/* Whether there is an HTTP server: KYMO_E_UNSUPPORTED, and detail says what is missing. */
KYMO_NODISCARD
kymo_err kymo_pull_check(kymo_error *detail);
/* pull_server.c: serves until the page says that it ends. context: a kymo_pull_work. */
KYMO_NODISCARD
kymo_err kymo_pull_serve(void *context, struct kymo_worker_result *result);

/* Listens, if the settings say so, and starts the server. settings and argv outlive it. */
KYMO_NODISCARD
kymo_err kymo_pull_open(struct kymo_pull *pull, const struct kymo_agent_settings *settings,
                        char *const *argv, const struct kymo_deliver_workers *workers,
                        uint64_t now_ns, kymo_error *detail);
/* Looks after the server, and tells it the figures. */
void kymo_pull_round(struct kymo_pull *pull, const struct kymo_pull_figures *figures,
                     uint64_t now_ns);
/* The program has ended: whether the server has, too, when it has answered. */
int kymo_pull_end(struct kymo_pull *pull);
void kymo_pull_close(struct kymo_pull *pull);

#endif
