/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporter.h - where profiles go: what a reporter is given, and what it does with it.
 *
 * Layer:    agent
 * Flow:     deliver.c (in a process for each delivery) -> [reporter] -> disk, store, server
 * Threads:  one
 * Memory:   what a reporter is given is the caller's
 * Signals:  not for handlers
 *
 * A reporter runs in a process of its own, forked for one profile: it may wait, leak or crash, and
 * nothing but this delivery is lost, which is then tried again.
 */
#ifndef KYMO_AGENT_REPORTER_H
#define KYMO_AGENT_REPORTER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

struct kymo_metadata;

#define KYMO_REPORTER_TARGET_MAX 1024u

/* Of the program that is recorded, and of where it runs. */
struct kymo_agent_identity {
    const char *program; /* the last part of its path */
    const char *host;
    pid_t pid;
    uint64_t start_realtime_ns;           /* of the program, in ns since 1970 */
    const struct kymo_metadata *metadata; /* of where it runs, and labels; NULL: none */
    int has_looked;                       /* whether metadata that is missing was looked for */
};

/* What of an interval a profile has. Some servers want a pprof file for each kind of value. */
enum kymo_part { KYMO_PART_ALL, KYMO_PART_CPU, KYMO_PART_WALL, KYMO_PART_HEAP, KYMO_PART_COUNT };

/* The profile of one interval in one format. */
struct kymo_interval_profile {
    enum kymo_part part;
    int fd; /* to be read by offset (pread) */
    uint64_t bytes;
    const char *extension; /* of its format: ".jfr" */
    uint64_t start_ns;     /* of the interval, in ns since 1970 */
    uint64_t end_ns;
    uint64_t interval_ns;  /* as it was asked for */
    uint64_t number;       /* of the interval, from 1; gaps are empty ones */
    uint64_t lost_records; /* that it misses */
    int is_last;           /* the recording has ended with it */
    const struct kymo_agent_identity *who;
};

struct kymo_reporter_kind;

/* What is to be kept of a folder; 0: no limit. */
struct kymo_retention {
    uint64_t files;
    uint64_t bytes;
    uint64_t age_ns;
};

struct kymo_reporter {
    const struct kymo_reporter_kind *kind;
    char target[KYMO_REPORTER_TARGET_MAX]; /* behind the prefix of its kind */
    char extension[16];                    /* the format of its profiles */
    struct kymo_retention keep;
};

struct kymo_reporter_kind {
    const char *prefix;    /* by which a target is known: "local:" */
    const char *extension; /* the format that it has without format= */
    /* Whether it can work, as far as that is known before the program runs. */
    kymo_err (*check)(const struct kymo_reporter *reporter, kymo_error *detail);
    /* Delivers one profile. After an error the delivery is tried again, later and whole; after
     * KYMO_E_INVALID and KYMO_E_UNSUPPORTED it is not. */
    kymo_err (*report)(const struct kymo_reporter *reporter,
                       const struct kymo_interval_profile *profile, kymo_error *detail);
    /* Its profiles leave the machine, as far as is known: they carry metadata, and its target may
     * be a URL. */
    int is_remote;
    /* It gets a profile for each part of an interval that has anything, and none of all. */
    int in_parts;
    /* What a worker needs beside the profile's file; NULL: nothing. */
    int (*descriptor)(const struct kymo_reporter *reporter);
    /* A try may take as long as it wants. */
    int is_patient;
};

/* reporter_local.c: files in a folder. */
extern const struct kymo_reporter_kind kymo_reporter_local;

/* "2026-11-27T00-14-30.123Z" of a time since 1970: without colons, which some file systems and
 * tools do not take in names. */
#define KYMO_STAMP_MAX 32u
const char *kymo_reporter_stamp(char out[KYMO_STAMP_MAX], uint64_t realtime_ns);
/* Appends "PROGRAM.HOST.", without characters that mean something in a path. */
void kymo_reporter_put_source(kymo_str *name, const struct kymo_agent_identity *who);
/* Appends "PROGRAM.HOST.PID.STAMP.NUMBER": no two profiles have the same. */
void kymo_reporter_put_name(kymo_str *name, const struct kymo_interval_profile *profile);

#endif
