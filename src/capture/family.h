/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family.h - what the children of a recorded process need to find the recorder themselves.
 *
 * Layer:    capture
 * Flow:     start/ -> [family] -> exec and fork hooks
 * Threads:  written by start and by a forked child that attaches, both while they are alone
 * Memory:   ordinary memory: unlike the process' own state (state.h) a forked child has a copy of
 * it Signals:  reading is safe; a child of vfork, which runs in its parent's memory, only reads
 *
 * The first page of the session stays mapped in a forked child: there it sees whether the recording
 * goes on, and there it says what could not be recorded of what it starts.
 */
#ifndef KYMO_CAPTURE_FAMILY_H
#define KYMO_CAPTURE_FAMILY_H

#include <limits.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/attr.h"
#include "buffer/attach.h"
#include "buffer/session.h"
#include "capture/state.h"

/* Tells one file from another, whatever its name. */
struct kymo_file_id {
    uint64_t device;
    uint64_t inode;
};

struct kymo_family {
    /* The session of this process, or of the nearest ancestor that has one: its first page alone,
     * in a forked child at the address where its parent has it. NULL: children are none of our
     * business. */
    struct kymo_session *header;
    char attach_name[KYMO_ATTACH_NAME_MAX + 1]; /* the recorder's socket */
    struct kymo_file_id library_file;
    struct kymo_file_id loader_file;     /* the ld.so that runs this program */
    struct kymo_file_id network;         /* the namespace that the recorder's socket is in */
    uint64_t network_cookie;             /* the same, as a socket of it tells; 0: not known */
    char library[KYMO_LIBRARY_PATH_MAX]; /* our own file, as LD_PRELOAD names it */
};

extern struct kymo_family kymo_family;

/* Keeps what the environment said, before it is cleaned. library: the path in LD_PRELOAD, len bytes
 * of it; one that is not absolute means another file elsewhere, and is not handed on. */
void kymo_family_init(const char *attach_name, const char *library, size_t len);
/* The same where children that it forks are followed, and programs that it starts are not. */
void kymo_family_name(const char *attach_name);
/* This process has a session: what it starts belongs to it. */
void kymo_family_join(struct kymo_session *session);

/* Whether the recorder exists but is stopped: each program that is started would wait for it.
 * Returns 0 if the session has ended, which says nothing of that, or if the clock may not be read.
 */
KYMO_SIGNAL_SAFE static inline int kymo_family_is_silent(const struct kymo_session *header)
{
    if (kymo_load_relaxed(&header->stopped) || kymo_load_relaxed(&header->quiet))
        return 0;
    uint64_t silence = kymo_clock_now((enum kymo_clock_kind)header->clock_kind) -
                       kymo_load_acquire(&header->heartbeat);
    /* A beat of another CPU may be a few ticks ahead of this one's counter: not silence. */
    return silence > header->heartbeat_limit && silence < UINT64_MAX / 2;
}

/* The same, after a much shorter silence, of one that has been stopped. */
KYMO_SIGNAL_SAFE int kymo_family_is_stopped(const struct kymo_session *header);

/* Whether children that this process forks are to be recorded, too. */
KYMO_SIGNAL_SAFE static inline int kymo_family_forks_are_followed(void)
{
    const struct kymo_session *header = kymo_load_acquire(&kymo_family.header);
    /* An ancestor's session is stopped when that one has ended: this says nothing of the others. */
    return header && header->flags & KYMO_SESSION_CHILDREN && kymo_family.attach_name[0] != '\0' &&
           !(kymo_process_here() && kymo_load_relaxed(&header->stopped)) &&
           !kymo_family_is_silent(header) && !kymo_family_is_stopped(header);
}

/* Whether programs that it starts are. */
KYMO_SIGNAL_SAFE static inline int kymo_family_is_followed(void)
{
    return kymo_family.library[0] != '\0' && kymo_family_forks_are_followed();
}

/* There is one more that is to be recorded: the recorder waits for it, if it lives longer than
 * those that have attached. */
KYMO_SIGNAL_SAFE static inline void kymo_family_count(void)
{
    struct kymo_session *header = kymo_load_acquire(&kymo_family.header);
    if (header)
        kymo_add_relaxed(&header->relatives, 1u);
}

/* Which file is at path. Returns 0 if there is none. */
KYMO_SIGNAL_SAFE int kymo_file_identify(const char *path, struct kymo_file_id *id);

#endif
