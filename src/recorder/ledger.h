/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - measures the resident memory of a recorded process, and records its owners.
 *
 * Layer:    recorder
 * Flow:     resident.c, the session, allocator_answer.c -> [ledger] -> recording writer
 * Threads:  the recorder's one thread
 * Memory:   two looks, each with at most KYMO_RESIDENT_PIECES_MAX pieces, plus one for each
 *           private area and for each stack in it
 * Signals:  not for handlers
 *
 * For a look the kernel walks all pages of the process, and blocks its threads that map memory
 * meanwhile. So there is at most one look a second, and looks use at most 1 % of a CPU. The last
 * look is recorded when the process has ended. The look with the most resident memory is recorded,
 * too, if it had at least a tenth more.
 */
#ifndef KYMO_RECORDER_LEDGER_H
#define KYMO_RECORDER_LEDGER_H

#include <sys/types.h>

#include "buffer/drain.h"
#include "buffer/session.h"
#include "recording/events.h"

typedef struct kymo_ledger_book kymo_ledger_book;

struct kymo_ledger_config {
    const kymo_event_handler *events;
    void *context;
    struct kymo_session *session;
    const struct kymo_session_plan *plan;
    const kymo_drain *drain; /* for its clock */
    const char *root;        /* prefix of all paths, "" except in tests */
    int image;               /* the address space of the process, see kymo_task_open_image */
    int has_past;            /* some memory may be older than the session, as in a forked child */
};

/* process: its number in the recording. first_ns: time of the first look. */
KYMO_NODISCARD
kymo_err kymo_ledger_create(const struct kymo_ledger_config *config, pid_t pid, uint32_t process,
                            uint64_t first_ns, kymo_ledger_book **out);
/* NULL is allowed, here and below. */
void kymo_ledger_destroy(kymo_ledger_book *book);
/* Looks if it is time to. Ignores what cannot be read or stored. */
void kymo_ledger_round(kymo_ledger_book *book, uint64_t now_ns);
/* Looks now: the recording ends before the process does. */
void kymo_ledger_look(kymo_ledger_book *book, uint64_t now_ns);
/* The most private memory that it had resident, without thread stacks, files and Kymo's own
 * memory. For a process with older memory: beyond that of the first look. */
uint64_t kymo_ledger_own_bytes(const kymo_ledger_book *book);
/* Records the looks. */
KYMO_NODISCARD
kymo_err kymo_ledger_finish(kymo_ledger_book *book);

#endif
