/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - what `kymo control` and a recorder that runs say to each other.
 *
 * Layer:    recorder
 * Flow:     cli/cmd_control.c -> [control_client] <-> [control_server] -> tree.c
 * Threads:  each side's only one
 * Memory:   none
 * Signals:  not for handlers
 *
 * One request and one answer on a SOCK_SEQPACKET connection. The recorder's socket is found by its
 * process id, in the abstract namespace; anybody may have made one of that name, and anybody may
 * connect, so both sides ask the kernel who the other one is.
 */
#ifndef KYMO_RECORDER_CONTROL_H
#define KYMO_RECORDER_CONTROL_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"
#include "buffer/session.h"

#define KYMO_CONTROL_MAGIC 0x6b796d6f63740001ull
#define KYMO_CONTROL_NAME "kymo-control-" /* and the recorder's process id */

/* Which categories of markers are on from now on. */
struct kymo_control_request {
    uint64_t magic;
    char markers[KYMO_CONTROL_BYTES]; /* ends with a NUL */
};

struct kymo_control_answer {
    uint64_t magic;
    int32_t error;  /* kymo_err */
    uint32_t told;  /* processes whose categories follow the list */
    uint32_t later; /* that have not said so yet */
    uint32_t reserved;
};

/* The address of that recorder's socket; its length. */
socklen_t kymo_control_address(pid_t pid, struct sockaddr_un *address);

/* Asks the recorder whose process id this is, or which records that process; 0: the only one that
 * the user runs. */
KYMO_NODISCARD
kymo_err kymo_control_ask(pid_t pid, const char *markers, struct kymo_control_answer *answer,
                          kymo_error *detail);

#endif
