/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_report.h - how an agent hands profiles to the program that started it.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     agent/reporter_callback.c <-> start/reports.c, over a SOCK_SEQPACKET socket pair of
 *           its own: the link (agent_link.h) answers while a callback works
 *
 *   agent   -> report {what the profile is, its metadata as text}, with a descriptor of its bytes
 *   program -> answer {id, error}
 *
 * One at a time. An answer with another id is to a report whose delivery was ended.
 */
#ifndef KYMO_BUFFER_AGENT_REPORT_H
#define KYMO_BUFFER_AGENT_REPORT_H

#include <stdint.h>

#define KYMO_AGENT_REPORT_MAGIC 0x6b796d6f72657001ull
#define KYMO_AGENT_REPORT_FD 4 /* of the agent's end, when it starts */
#define KYMO_AGENT_REPORT_METADATA_MAX 60000u

struct kymo_agent_report {
    uint64_t magic;
    uint64_t id;
    uint64_t start_ns, end_ns; /* since 1970 */
    uint64_t interval_ns;      /* as it was asked for */
    uint64_t number;
    uint64_t bytes;
    uint64_t lost_records;
    uint32_t is_last;
    int32_t pid;      /* of the program, or of the process that the profile is of */
    char program[64]; /* its name; both end with a NUL */
    char format[16];  /* "pb.gz" */
    /* The metadata follows, an object of JSON, to the message's end. */
};

struct kymo_agent_report_answer {
    uint64_t magic;
    uint64_t id;
    int32_t error; /* kymo_err, of the callback */
    uint32_t reserved;
};

#endif
