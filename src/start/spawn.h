/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - a program starts the agent that records it.
 *
 * Layer:    start
 * Flow:     agent.c, preload.c -> [spawn] -> `kymo agent --join=FD`
 * Threads:  any
 * Memory:   some 9 KiB of stack
 * Signals:  not for handlers
 *
 * The agent is not the program's child: a program that waits for any child must not find one that
 * it did not make, nor hear of its end by SIGCHLD. A process in between, which gives no signal when
 * it ends, starts the agent and ends. The agent has a session of its own (Ctrl-C is for the
 * program), and of the program's descriptors the standard error and its end of the link alone.
 */
#ifndef KYMO_START_SPAWN_H
#define KYMO_START_SPAWN_H

#include <limits.h>
#include <stdint.h>

#include "base/error.h"
#include "buffer/agent_link.h"
#include "buffer/attach.h"

/* Finds the kymo that belongs to the library whose code `inside` is: installed or in a build tree.
 * KYMO_E_NOT_FOUND. */
KYMO_NODISCARD
kymo_err kymo_spawn_find(const void *inside, char out[PATH_MAX]);
/* Starts it; settings (may be NULL) as in KYMO_OPTIONS, after those of the environment. env: the
 * program's, of which what would record the agent itself is left out. *link: our end of the socket
 * pair, which is closed on exec and in forked children stays open. detail says why not: the
 * program file, or a filter that forbids it. reports: the agent's end of the socket of
 * buffer/agent_report.h, which stays the caller's; -1: none. */
KYMO_NODISCARD
kymo_err kymo_spawn_agent(const char *kymo, const char *settings, char *const *env, int reports,
                          int *link, kymo_error *detail);
/* The next message on the link: 1; 0: none until then (CLOCK_MONOTONIC); -1: the agent's end is
 * closed, or says what it should not. */
int kymo_spawn_hear(int link, struct kymo_agent_link_message *message, uint64_t until_ns);
/* Waits until the agent says where it can be reached, and allows it to look at this process; or why
 * it cannot record. */
KYMO_NODISCARD
kymo_err kymo_spawn_await(int link, char name[KYMO_ATTACH_NAME_MAX + 1], kymo_error *detail);

#endif
