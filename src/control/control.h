/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - what a recorder that runs is asked, and what it answers.
 *
 * Layer:    control; above base and sys
 * Flow:     cli/cmd_control.c, kymo/memory.h -> [control_client] <-> recorder/control_server.c
 * Threads:  any; each call stands for itself
 * Memory:   none
 * Signals:  not for handlers
 *
 * One request and one answer on a SOCK_SEQPACKET connection. The recorder's socket is found by its
 * process id, in the abstract namespace. Any process may make a socket of that name, and any
 * process may connect. So both sides ask the kernel who the other one is.
 */
#ifndef KYMO_CONTROL_CONTROL_H
#define KYMO_CONTROL_CONTROL_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"

#define KYMO_CONTROL_MAGIC 0x6b796d6f63740004ull
#define KYMO_CONTROL_NAME "kymo-control-" /* and the recorder's process id */
#define KYMO_CONTROL_LIST_BYTES 512u
#define KYMO_CONTROL_RATE_MAX (1ull << 30)
#define KYMO_CONTROL_DURATION_MAX_NS (3600ull * 1000000000)
#define KYMO_CONTROL_PERIOD_MAX_NS 10000000000ull

enum kymo_control_what {
    KYMO_CONTROL_MARKERS = 1, /* which categories of markers are on from now on */
    KYMO_CONTROL_ALLOC,       /* mean bytes between two allocations that are recorded */
    KYMO_CONTROL_HEAP,        /* what lives now, as a file */
    KYMO_CONTROL_SNAPSHOT,    /* the recording so far, as a file */
    KYMO_CONTROL_CATEGORIES,  /* which categories there are, as the text of control/categories.h */
    KYMO_CONTROL_PROFILE,     /* what is recorded in the next so many seconds, as a file */
    KYMO_CONTROL_STATUS,      /* what the recorder does, as one object of JSON */
    KYMO_CONTROL_FLUSH,       /* the present interval of an agent ends; answered when it has */
    KYMO_CONTROL_PAUSE,       /* samples, markers and allocations are not recorded from now on */
    KYMO_CONTROL_RESUME,      /* they are again */
    KYMO_CONTROL_CPU,         /* ns of CPU time from one sample to the next, from now on */
    KYMO_CONTROL_WALL,        /* the same of wall time, where that is recorded */
    KYMO_CONTROL_SET, /* settings of an agent become others; the answer is a text: why not, or
                       * nothing */
};

/* What of a profile a pprof file shows. */
enum kymo_control_show {
    KYMO_CONTROL_SHOW_ALL,
    KYMO_CONTROL_SHOW_CPU,
    KYMO_CONTROL_SHOW_WALL,
    KYMO_CONTROL_SHOW_ALLOC,
};

/* The ending of a heap's file that is no encoder's: the object of `kymo report --json`. That of a
 * snapshot is the recording itself. */
#define KYMO_CONTROL_REPORT ".report"
#define KYMO_CONTROL_RECORDING ".kymo"

struct kymo_control_request {
    uint64_t magic;
    uint32_t what;        /* enum kymo_control_what */
    int32_t pid;          /* of HEAP and CATEGORIES: whose; the recorder's own, or 0 of CATEGORIES:
                           * all that it records. Of SNAPSHOT not used */
    uint64_t rate;        /* of ALLOC; 0: none are. Of CPU and WALL: the period */
    uint64_t duration_ns; /* of PROFILE: not 0, at most KYMO_CONTROL_DURATION_MAX_NS */
    uint32_t show;        /* of PROFILE: enum kymo_control_show */
    uint32_t reserved;
    char format[16]; /* of HEAP, SNAPSHOT and PROFILE: how such a file's name ends, with a NUL */
    char markers[KYMO_CONTROL_LIST_BYTES]; /* of MARKERS and SET; ends with a NUL */
};

struct kymo_control_answer {
    uint64_t magic;
    int32_t error;  /* kymo_err */
    uint32_t told;  /* processes that do as they were asked */
    uint32_t later; /* that have not said so yet */
    uint32_t reserved;
    uint64_t period_ns; /* of CPU and WALL: that is in force now */
};

/* Whether a process of the recorder's makes a file of what was recorded. */
static inline int kymo_control_makes_file(uint32_t what)
{
    return what == KYMO_CONTROL_HEAP || what == KYMO_CONTROL_SNAPSHOT ||
           what == KYMO_CONTROL_PROFILE;
}

/* Whether the recorder needs time for an answer: it reads on first. */
static inline int kymo_control_takes_long(uint32_t what)
{
    return kymo_control_makes_file(what) || what == KYMO_CONTROL_FLUSH;
}

/* Whether the answer is a file. */
static inline int kymo_control_is_for_file(uint32_t what)
{
    return kymo_control_makes_file(what) || what == KYMO_CONTROL_CATEGORIES ||
           what == KYMO_CONTROL_STATUS || what == KYMO_CONTROL_SET;
}

/* The address of that recorder's socket; its length. */
socklen_t kymo_control_address(pid_t pid, struct sockaddr_un *address);

/* Asks the recorder whose process id this is, or which records that process; 0: the only one that
 * the user runs. request: its magic is set here. *file (may be NULL where the answer is no file):
 * the descriptor of what was asked for, which is the caller's, at its beginning. */
KYMO_NODISCARD
kymo_err kymo_control_ask(pid_t pid, const struct kymo_control_request *request,
                          struct kymo_control_answer *answer, int *file, kymo_error *detail);

/* The same in two steps, for a caller that does something else meanwhile: a connection, which can
 * be read when the answer has come (-1 with detail: there is none), and the answer. The second step
 * closes the connection; a caller that does not want the answer any more closes it itself. */
int kymo_control_begin(pid_t pid, const struct kymo_control_request *request, kymo_error *detail);
KYMO_NODISCARD
kymo_err kymo_control_end(int connection, const struct kymo_control_request *request,
                          struct kymo_control_answer *answer, int *file, kymo_error *detail);

/* Both ends of an answer: with a descriptor, if file is not -1. */
KYMO_NODISCARD
kymo_err kymo_control_send(int connection, const struct kymo_control_answer *answer, int file);

#endif
