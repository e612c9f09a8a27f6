/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - which threads of a process run at this moment, seen from outside.
 *
 * Layer:    observe
 * Flow:     /proc/PID/task/TID/{schedstat,status,stat} -> [watch] -> dispatch.c, wall.c
 * Threads:  one at a time; a caller that needs it in two threads makes two
 * Memory:   its own table; two or three descriptors for each thread while there are enough of them
 * Signals:  not for handlers
 *
 *   create -> add ... -> round, look ... -> remove ... -> destroy
 *
 * On a CPU or not: the kernel counts how often a thread got on a CPU (schedstat's third figure) and
 * how often it left one (status: voluntary and nonvoluntary switches). Their difference is by one
 * larger while it is on one. It begins at 0, but is not exact: a thread that was preempted on its
 * way to sleep comes back without being counted. watch_look.c learns from looks how often that was;
 * until then, up to the kernel's next tick, such a thread seems to be off its CPU. kymo_watch_probe
 * says whether this kernel counts at all.
 */
#ifndef KYMO_OBSERVE_WATCH_H
#define KYMO_OBSERVE_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum kymo_watch_place {
    KYMO_WATCH_OFF, /* asleep, or woken and not on a CPU yet */
    KYMO_WATCH_ON,  /* on a CPU */
    /* Off its CPU in the middle of its work: what it does next, it does in the program. */
    KYMO_WATCH_PREEMPTED,
};

struct kymo_watch_look {
    uint64_t run_ns; /* CPU time; up to a tick old of a thread that is on a CPU, else exact */
    uint64_t arrivals;
    uint64_t voluntary; /* switches away: it went to sleep */
    uint64_t nonvoluntary;
    enum kymo_watch_place place;
    uint64_t awake_ns; /* CPU time since it was last seen asleep; UINT64_MAX: it never was */
    char state;        /* as in status: R, S, D, T, t, Z, X, I */
    int changed;       /* since the look before */
    double drawn;      /* the part of all rounds in which this thread is looked at */
    /* The last round before the one at hand at which it was still as the look before found it. */
    uint64_t unmoved_round;
};

typedef struct kymo_watch kymo_watch;

/* Whether the kernel counts arrivals and departures: those of the calling thread. */
int kymo_watch_probe(void);

/* proc: where proc is mounted; NULL: /proc. */
KYMO_NODISCARD
kymo_err kymo_watch_create(const char *proc, pid_t pid, kymo_watch **out);
void kymo_watch_destroy(kymo_watch *watch);

/* From now on, before any thread is added: of many threads that use little CPU time each round
 * looks at some only, chosen by lot, and may take voluntary and nonvoluntary of one that sleeps
 * from an earlier look. round_ns: from one round to the next. */
void kymo_watch_draw_lots(kymo_watch *watch, uint64_t round_ns, uint64_t seed);
/* From now on the caller does not need voluntary and nonvoluntary of a sleeping thread, nor whether
 * a preempted one was at work. It looks again before it relies on what it found. */
void kymo_watch_in_short(kymo_watch *watch);
/* For some rounds this thread is looked at in each. */
void kymo_watch_attend(kymo_watch *watch, uint32_t entry);

/* *entry stays its number until it is removed; user is given to kymo_watch_round's callback. A
 * thread that is not there (any more) is KYMO_E_NOT_FOUND. */
KYMO_NODISCARD
kymo_err kymo_watch_add(kymo_watch *watch, pid_t tid, void *user, uint32_t *entry);
void kymo_watch_remove(kymo_watch *watch, uint32_t entry);

/* Looks at one thread. Returns 0 when it is gone, or nothing consistent was to be read. */
int kymo_watch_look(kymo_watch *watch, uint32_t entry, struct kymo_watch_look *look);

/* On which CPU the thread is or was; -1: not to be read. */
int kymo_watch_cpu(const kymo_watch *watch, uint32_t entry);

/* Looks at all threads that may have run since the last round, and calls seen at once after each
 * look. Threads that did not run for many rounds cost nothing of their own: that none of them ran
 * is seen at the process's CPU clock. seen must not add or remove threads. */
typedef void kymo_watch_seen(void *context, void *user, const struct kymo_watch_look *look);
void kymo_watch_round(kymo_watch *watch, kymo_watch_seen *seen, void *context);
/* The number of the last round; they count from 1. */
uint64_t kymo_watch_rounds(const kymo_watch *watch);
/* The last round at which this thread was as its last look found it. */
uint64_t kymo_watch_unmoved_round(const kymo_watch *watch, uint32_t entry);
/* Whether the last round found that any thread had run since the one before. */
int kymo_watch_is_active(const kymo_watch *watch);

/* For tests: files read since it was made. */
uint64_t kymo_watch_reads(const kymo_watch *watch);
/* For tests: what the files say. Return 0 when that is not what the kernel writes. */
int kymo_watch_parse_schedstat(const char *text, uint64_t *run_ns, uint64_t *arrivals);
int kymo_watch_parse_status(const char *text, struct kymo_watch_look *look);
/* Of stat: the CPU; -1. */
int kymo_watch_parse_cpu(const char *text);

#endif
