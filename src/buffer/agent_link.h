/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_link.h - what a program and the agent that it started say to each other.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     start/agent.c <-> cli/cmd_agent.c, over a Unix SOCK_SEQPACKET socket pair
 *
 *   agent   -> OPENED {text: the socket to attach by; number: its process id}
 *   program -> FLUSH, STATUS, STOP {number: deadline in ns}
 *   agent   -> STATUS {counts}
 *   program -> CHANGE {text behind the message: settings, with a NUL}
 *   agent   -> CHANGED {error, text}
 *   agent   -> ENDED {error, text}, the last one: all is delivered, or why it is not
 *
 * When the program's end is closed, it has detached or ended: the agent goes on until the process
 * ends, and learns of it from this alone.
 */
#ifndef KYMO_BUFFER_AGENT_LINK_H
#define KYMO_BUFFER_AGENT_LINK_H

#include <stdint.h>

#define KYMO_AGENT_LINK_MAGIC 0x6b796d6f61670001ull

enum kymo_agent_link_what {
    KYMO_AGENT_LINK_OPENED = 1,
    KYMO_AGENT_LINK_STATUS,
    KYMO_AGENT_LINK_FLUSH,
    KYMO_AGENT_LINK_STOP,
    KYMO_AGENT_LINK_ENDED,
    KYMO_AGENT_LINK_CHANGE,
    KYMO_AGENT_LINK_CHANGED,
};

#define KYMO_AGENT_LINK_SETTINGS_MAX 8192u /* with the NUL */

/* Counts since the start. */
struct kymo_agent_link_counts {
    uint64_t intervals, empty, broken;
    uint64_t lost_records;
    uint64_t delivered, failures, dropped;
    uint64_t last_delivery_ns; /* since 1970; 0: none */
    uint64_t agent_cpu_ns;
};

struct kymo_agent_link_message {
    uint64_t magic;
    uint32_t what;
    int32_t error; /* kymo_err */
    uint64_t number;
    struct kymo_agent_link_counts counts; /* of STATUS and ENDED */
    char text[232];                       /* ends with a NUL */
};

#endif
