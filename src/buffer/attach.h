/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.h - what the library and the recorder say to each other at start.
 *
 * Layer:    buffer (layout: read by both halves)
 * Flow:     start/preload.c <-> recorder/host.c, over a Unix SOCK_SEQPACKET socket
 *
 *   library  -> HELLO {layout, pid, tid, parent_pid, start, cpu_ns, filter, what names the image}
 *   recorder -> WELCOME {error, sizes, base_cpu_ns} and, if error is 0, descriptors (SCM_RIGHTS):
 *               of the session, of the page that holds the recorder's bell (a futex's word), of the
 *               row tables of the whole recording, which can only be read, and of the perf event of
 *               the thread that attaches
 *   library     starts that event once handler and thread are in place, sets `attached` in the
 *               session, and closes all descriptors: nothing of ours stays open in the program
 *
 * Nothing more is sent. To wake the recorder costs more than all else a process that ends at once
 * does for us, so it finds out at its next round, and rings the bell only where that matters: where
 * the thread has no event yet. The socket is closed last: if that is seen without `attached`, the
 * process could not use the session.
 */
#ifndef KYMO_BUFFER_ATTACH_H
#define KYMO_BUFFER_ATTACH_H

#include <stdint.h>

/* The environment of the program names the socket: a name in the abstract namespace. Whatever a
 * recorded program starts has KYMO_ATTACH_CHILD behind the name: it says nothing on standard error,
 * which is its user's, when it cannot be recorded. */
#define KYMO_ATTACH_ENV "KYMO_ATTACH"
#define KYMO_ATTACH_CHILD ",child"
/* The namespace that holds the name of the recorder's socket. */
#define KYMO_NETWORK_NAMESPACE "/proc/self/ns/net"
#define KYMO_ATTACH_NAME_MAX 107u /* bytes; struct sockaddr_un has no room for more */
/* Bytes of the library's path in LD_PRELOAD, NUL included; a longer one gets a link. */
#define KYMO_LIBRARY_PATH_MAX 1024u
#define KYMO_ATTACH_MAGIC 0x4b594d4fu

enum kymo_attach_kind {
    KYMO_ATTACH_HELLO = 1,
    KYMO_ATTACH_WELCOME = 2,
};

/* What comes with WELCOME, in this order. Only the first must be there. */
enum kymo_attach_descriptor {
    KYMO_ATTACH_SESSION,
    KYMO_ATTACH_BELL,
    KYMO_ATTACH_TABLES,
    KYMO_ATTACH_EVENT,
    KYMO_ATTACH_DESCRIPTORS
};
#define KYMO_ATTACH_BELL_BYTES 4096u

/* How a process image came to be. */
enum kymo_attach_start {
    KYMO_ATTACH_EXEC = 1, /* a fresh image; the process may have had another one */
    KYMO_ATTACH_FORK = 2, /* a forked child, which goes on in its parent's image */
    KYMO_ATTACH_LATE =
        3, /* a process that has run for a while; what it used till now is not ours */
};

struct kymo_attach_message {
    uint32_t magic;
    uint32_t kind;
    uint32_t layout; /* KYMO_SESSION_LAYOUT */
    int32_t error;   /* kymo_err */
    int32_t pid, tid, parent_pid;
    uint32_t start; /* enum kymo_attach_start */
    /* In HELLO the CPU clock of the thread that attaches. In WELCOME what it had used before this
     * image: its first sample stands for what it has used since. */
    uint64_t cpu_ns;
    uint64_t size_bytes;  /* in WELCOME: of the session */
    uint64_t table_bytes; /* in WELCOME: of the row tables */
    uint32_t filter;      /* in HELLO: the mode of seccomp; 0: there is no filter */
    uint32_t has;         /* in WELCOME: a bit for each descriptor that comes with it */
    int32_t event;        /* in WELCOME: the number that the event's signals carry; -1: no event */
    uint32_t name_bytes;  /* in HELLO: of the name behind it; 0: there is none */
};

/* What names a fresh image, as the kernel has told the process itself. To read it in /proc costs
 * the recorder, and the process at its end, 60 us: a tenth of what a process that ends at once may
 * cost. */
#define KYMO_ATTACH_TEXT_MAX 1024u

struct kymo_attach_name {
    uint64_t auxv;          /* kymo_auxv_hash */
    uint64_t device, inode; /* of its file */
    uint32_t text_bytes;
    char text[KYMO_ATTACH_TEXT_MAX]; /* the file's path (AT_EXECFN), then its arguments, each with
                                      * its NUL; only text_bytes of it are sent */
};

struct kymo_attach_hello {
    struct kymo_attach_message m;
    struct kymo_attach_name name;
};

#endif
