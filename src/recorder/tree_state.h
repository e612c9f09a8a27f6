/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_state.h - what a tree consists of; for the files that tree.h is made of.
 *
 * Layer:    recorder
 * Flow:     tree_attach.c (an image comes) -> tree.c (rounds) -> tree_end.c (an image goes)
 * Threads:  the recorder's main thread
 * Memory:   an image and a caller each from malloc
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_TREE_STATE_H
#define KYMO_RECORDER_TREE_STATE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "recorder/attach_server.h"
#include "recorder/bell.h"
#include "recorder/control_server.h"
#include "recorder/heap_answer.h"
#include "recorder/host.h"
#include "recorder/poller.h"
#include "recorder/refusals.h"
#include "recorder/tree.h"

/* A connection that has not said HELLO yet. */
struct kymo_tree_caller {
    struct kymo_poll_source source;
    kymo_tree *tree;
    struct kymo_attach_peer peer;
    uint64_t deadline_ns;
};

/* A process that may attach yet. */
struct kymo_tree_relative {
    struct kymo_poll_source end; /* its pidfd */
    kymo_tree *tree;
    pid_t pid;
};

struct kymo_tree_image {
    struct kymo_poll_source answer; /* READY is to come here; fd -1: it came */
    struct kymo_poll_source end;    /* its pidfd; fd -1: none */
    kymo_tree *tree;
    kymo_host *host;
    pid_t pid;
    uint32_t process;
    uint32_t start;     /* enum kymo_attach_start */
    int is_foreign;     /* its pid namespace is not ours */
    int is_live;        /* READY came: it has a number and is in the recording */
    int is_ending;      /* it was, its process has ended, and it is not read to its end */
    uint32_t laps_left; /* of such a one: over all that it has left */
    struct kymo_tree_ending ending; /* the same */
    uint64_t start_ns;              /* in the recording */
    uint64_t deadline_ns;
    uint64_t hello_cpu_ns;
    uint64_t main_before_ns; /* CPU clock of its main thread when it began */
    uint64_t cpu_before_ns;  /* the same of its process */
    uint64_t clock_ns;       /* the latest of its process */
    uint32_t still_rounds;   /* that the clock stood still */
    uint64_t replaced_ns;    /* when it was seen that another program runs there; 0: none */
    int replacement_told;
};

/* Processes of other users that have nothing to do with the program, by the end of their numbers:
 * one that calls again and again costs no look at its ancestors each time. */
#define KYMO_STRANGERS 256u

struct kymo_stranger {
    pid_t pid;
    uint64_t until_ns;
};

struct kymo_tree {
    struct kymo_host_config config;
    int poller;
    struct kymo_attach_server server;
    struct kymo_poll_source door; /* the server's socket */
    int door_is_shut;             /* for want of descriptors, until the next round */
    struct kymo_poll_source ring; /* the bell's event */
    kymo_bell *bell;
    kymo_host *first; /* for the first image; NULL: it was given away */
    pid_t program;
    uint64_t start_ns; /* of the program */
    int program_came;
    int foreign_told;
    int has_relatives; /* an image that has ended ever had */
    int stopped;
    uint32_t next_process;
    uint32_t next_thread;
    struct kymo_tick_threads tick_threads;
    uint32_t recorded;
    size_t turn;          /* of the images: who is read first */
    uint64_t turned_away; /* images for which there was no room */
    uint64_t cpu_ns;
    kymo_event_quality quality; /* of process 0, once its image has ended */
    KYMO_VEC(struct kymo_tree_caller *) callers;
    KYMO_VEC(struct kymo_tree_image *) images;
    KYMO_VEC(struct kymo_tree_relative *) relatives;
    kymo_refusals refusals;
    struct kymo_control_server control;
    struct kymo_heap_answers heap_answers;
    char markers[KYMO_CONTROL_BYTES];       /* the list that is in force */
    char asked_markers[KYMO_CONTROL_BYTES]; /* the one that it began with */
    struct kymo_categories categories;      /* of images that have ended; if that list has names */
    struct kymo_stranger strangers[KYMO_STRANGERS];
};

/* ---- tree_attach.c ---- */

/* A process has connected to the socket. tree: the kymo_tree, as the context of the poll source. */
KYMO_NODISCARD
kymo_err kymo_tree_open_door(void *tree);
/* Those who have kept us waiting too long; and the door, if it had to be shut. */
KYMO_NODISCARD
kymo_err kymo_tree_drop_late(kymo_tree *tree, uint64_t now_ns);
void kymo_tree_drop_caller(kymo_tree *tree, struct kymo_tree_caller *caller);

/* Whether a process is the program, or a child of it or of an image, at any remove. */
int kymo_tree_is_descendant(const kymo_tree *tree, pid_t pid);

/* ---- tree_control.c ---- */

/* Sets what the control server does with what it is asked, which is not open yet. */
void kymo_tree_control_init(kymo_tree *tree);

/* Before an image goes: which categories it had. */
KYMO_NODISCARD
kymo_err kymo_tree_keep_categories(kymo_tree *tree, const kymo_host *host);
/* At the end: notes a name in the first list that was no category of any image. */
KYMO_NODISCARD
kymo_err kymo_tree_tell_unknown_categories(kymo_tree *tree, uint64_t end_ns);

/* ---- tree_relatives.c ---- */

/* This process has attached, or is not waited for any more; 0: all of them. */
void kymo_tree_forget_relatives(kymo_tree *tree, pid_t pid);

/* ---- tree.c ---- */

/* The image of this process; NULL: none. */
struct kymo_tree_image *kymo_tree_find(const kymo_tree *tree, pid_t pid);
/* Which programs it has started without us. */
KYMO_NODISCARD
kymo_err kymo_tree_read_refusals(struct kymo_tree_image *image);
/* That it runs another program, once. */
KYMO_NODISCARD
kymo_err kymo_tree_tell_replacement(struct kymo_tree_image *image, uint64_t now_ns);

/* ---- tree_end.c ---- */

/* Ends an image and frees it; followed: by the image that its process has attached now. */
KYMO_NODISCARD
kymo_err kymo_tree_end_image(kymo_tree *tree, struct kymo_tree_image *image,
                             const struct kymo_tree_ending *ending, int is_followed);
/* Reads some more of one whose process has ended; ends it if that was all. */
KYMO_NODISCARD
kymo_err kymo_tree_go_on_ending(kymo_tree *tree, struct kymo_tree_image *image);
/* Frees one that never came to be in the recording, or is in it to the end. */
void kymo_tree_drop_image(kymo_tree *tree, struct kymo_tree_image *image);
/* The process of an image has ended. context: the image. */
KYMO_NODISCARD
kymo_err kymo_tree_image_ended(void *image);

#endif
