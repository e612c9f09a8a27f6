/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - looks at what a recorded process has resident, and puts down whose that is.
 *
 * Layer:    recorder
 * Flow:     resident.c, the session, allocator_answer.c -> [ledger] -> recording writer
 * Threads:  the recorder's one thread
 * Memory:   its own: two looks, each of KYMO_RESIDENT_PIECES_MAX pieces at most, and one more for
 *           each area of the process's own, and each stack in one
 * Signals:  not for handlers
 *
 * The kernel walks all pages of the process for a look, and holds up those of its threads that map
 * memory meanwhile. So there is at most one a second, and at most a hundredth of a CPU is spent
 * on them. The last one goes into the recording when the process has ended, and before it the
 * one of the most resident memory, if that was more by a tenth.
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
    const char *root;        /* what all paths begin with, "" but in tests */
    int image;    /* the memory that the process runs in, as kymo_task_open_image has it */
    int has_past; /* some of its memory may be older than its session, as a forked child's */
};

/* process: its number in the recording. first_ns: when it is looked at first. */
KYMO_NODISCARD
kymo_err kymo_ledger_create(const struct kymo_ledger_config *config, pid_t pid, uint32_t process,
                            uint64_t first_ns, kymo_ledger_book **out);
/* NULL is none, here and below. */
void kymo_ledger_destroy(kymo_ledger_book *book);
/* Looks, if it is time to. What cannot be read, or kept, is left out. */
void kymo_ledger_round(kymo_ledger_book *book, uint64_t now_ns);
/* Looks now: the recording ends, and the process does not. */
void kymo_ledger_look(kymo_ledger_book *book, uint64_t now_ns);
/* How much of its own memory it has had resident at most, without what is a thread's stack, of
 * files or ours; of a process with a past, beyond what there was at the first look. */
uint64_t kymo_ledger_own_bytes(const kymo_ledger_book *book);
/* Tells what was seen. */
KYMO_NODISCARD
kymo_err kymo_ledger_finish(kymo_ledger_book *book);

#endif
