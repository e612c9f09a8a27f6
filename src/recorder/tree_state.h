/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_state.h - state of a tree; for the files that implement tree.h.
 *
 * Layer:    recorder
 * Flow:     tree_attach.c (an image attaches) -> tree.c (rounds) -> tree_end.c (an image ends)
 * Threads:  the recorder's main thread
 * Memory:   each image and each caller from malloc
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
#include "recorder/file_answer.h"
#include "recorder/host.h"
#include "recorder/poller.h"
#include "recorder/process_event.h"
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

/* What was started that our library cannot be in, and is to be sampled from outside. */
struct kymo_tree_awaited {
    struct kymo_refusal refusal;
    uint32_t writer;  /* number of the image that told of it */
    pid_t writer_pid; /* of its process, here */
    int is_foreign;   /* the number in the refusal is of another pid namespace */
    uint64_t since_ns;
};

/* What a process without our library has started; or it has called exec itself. */
struct kymo_tree_started {
    pid_t parent, child;
    uint64_t since_ns;
};

struct kymo_tree_image {
    struct kymo_poll_source end; /* its pidfd; fd -1: none */
    int connection;              /* until it is in the recording; -1 from then on */
    kymo_tree *tree;
    kymo_host *host;
    pid_t pid;
    uint32_t process;
    uint32_t start;     /* enum kymo_attach_start */
    int is_foreign;     /* in another pid namespace */
    int is_live;        /* has attached: it has a number and is in the recording */
    int was_brief;      /* had ended when it was taken into the recording */
    int is_ending;      /* its process has ended; not all of its data is read */
    uint32_t laps_left; /* for an ended one: laps over its data that are still to be done */
    struct kymo_tree_ending ending;  /* for an ended one */
    struct kymo_process_facts facts; /* read while it waited for WELCOME */
    uint64_t deadline_ns;
    uint64_t hello_cpu_ns;
    uint64_t main_before_ns; /* CPU clock of its main thread when the image began */
    uint64_t main_until_ns;  /* the same when its samples began */
    uint64_t cpu_before_ns;  /* CPU clock of its process then */
    uint64_t clock_ns;       /* the latest CPU clock of its process */
    uint32_t still_rounds;   /* rounds since the clock last advanced */
    uint64_t replaced_ns;    /* when an unrecorded program was seen there; 0: none */
    int replacement_told;
};

/* Refused processes of other users, hashed by pid: a process that connects again and again does
 * not need a search of its ancestors each time. */
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
    int door_is_shut;             /* no descriptors left: accepts again in the next round */
    struct kymo_poll_source ring; /* the bell's event */
    kymo_bell *bell;
    kymo_host *first; /* for the first image; NULL: in use */
    pid_t program;
    uint64_t start_ns; /* of the program */
    int program_came;
    int watches_program; /* it is not our child */
    int foreign_told;
    int python_told;
    uint32_t tracers;  /* bits of enum kymo_tracer, of all images that have ended */
    int has_relatives; /* an ended image had relatives */
    int stopped;
    uint32_t next_process;
    uint32_t next_thread;
    struct kymo_tick_threads tick_threads;
    uint32_t recorded;
    size_t turn;          /* index of the image that is read first */
    uint64_t turned_away; /* images refused for lack of room */
    uint64_t cpu_ns;
    kymo_event_quality quality; /* quality of process 0, once its image has ended */
    KYMO_VEC(struct kymo_tree_caller *) callers;
    KYMO_VEC(struct kymo_tree_image *) images;
    KYMO_VEC(struct kymo_tree_relative *) relatives;
    kymo_refusals refusals;
    KYMO_VEC(struct kymo_tree_awaited) awaited;
    KYMO_VEC(struct kymo_tree_started) started;
    uint64_t unwatched;   /* of these, were gone before they could be sampled */
    uint64_t next_all_ns; /* when all images without our library are looked at */
    uint64_t look_ns;     /* when kymo_tree_look_outside is due; UINT64_MAX: it is not */
    struct kymo_control_server control;
    struct kymo_tree_owner owner;
    kymo_error said;            /* why settings were not changed; code KYMO_OK: they were */
    uint64_t interval_ended_ns; /* the last one; 0: none has */
    uint64_t since_realtime_ns; /* from when on it records as it does now; 0: not started */
    struct kymo_file_answers file_answers;
    struct kymo_past_intervals past;
    char markers[KYMO_CONTROL_BYTES];       /* the current list; in a pause "none" */
    char kept_markers[KYMO_CONTROL_BYTES];  /* in a pause: the list from its end on */
    uint64_t paused_ns;                     /* when the present pause began */
    char asked_markers[KYMO_CONTROL_BYTES]; /* the list at the start */
    struct kymo_categories categories;      /* of ended images; only if that list has names */
    struct kymo_stranger strangers[KYMO_STRANGERS];
};

/* ---- tree_attach.c ---- */

/* Accepts a connection to the socket. tree: the kymo_tree, as the context of the poll source. */
KYMO_NODISCARD
kymo_err kymo_tree_open_door(void *tree);
/* Closes connections past their deadline; accepts again if that was suspended. */
KYMO_NODISCARD
kymo_err kymo_tree_drop_late(kymo_tree *tree, uint64_t now_ns);
void kymo_tree_drop_caller(kymo_tree *tree, struct kymo_tree_caller *caller);

/* Makes an image of the process that has said this, and ends the one before. *out NULL: there is no
 * room for it, which is counted. */
KYMO_NODISCARD
kymo_err kymo_tree_begin_image(kymo_tree *tree, pid_t pid, const struct kymo_attach_hello *hello,
                               struct kymo_tree_image **out);
/* Takes an image into the recording that has attached. May free it. */
KYMO_NODISCARD
kymo_err kymo_tree_take_in(struct kymo_tree_image *image);

/* Takes new images into the recording that have attached meanwhile. */
KYMO_NODISCARD
kymo_err kymo_tree_look_at_new(kymo_tree *tree);

/* Whether a process is the program, or descends from it or from an image. */
int kymo_tree_is_descendant(const kymo_tree *tree, pid_t pid);

/* ---- tree_control.c ---- */

/* Sets the functions of the control server, before it is opened. */
void kymo_tree_control_init(kymo_tree *tree);

/* For all images, and those to come. */
void kymo_tree_select_markers(kymo_tree *tree, const char *markers);

/* Before an image ends: stores which categories it had. */
KYMO_NODISCARD
kymo_err kymo_tree_keep_categories(kymo_tree *tree, const kymo_host *host);
/* At the end: notes a name in the first list that was not a category of any image. */
KYMO_NODISCARD
kymo_err kymo_tree_tell_unknown_categories(kymo_tree *tree, uint64_t end_ns);

/* The same as `kymo control markers=`: in a pause the list holds from its end on. */
void kymo_tree_change_markers(kymo_tree *tree, const char *markers);
/* KYMO_E_UNSUPPORTED: allocations are not recorded. */
KYMO_NODISCARD
kymo_err kymo_tree_set_alloc_rate(kymo_tree *tree, uint64_t rate);

/* ---- tree_pause.c ---- */

/* Nothing happens in a pause, or out of one, respectively. */
KYMO_NODISCARD
kymo_err kymo_tree_pause(kymo_tree *tree);
KYMO_NODISCARD
kymo_err kymo_tree_resume(kymo_tree *tree);

/* Changes a period of the whole recording. KYMO_E_UNSUPPORTED: wall time is not recorded. */
KYMO_NODISCARD
kymo_err kymo_tree_set_cpu_period(kymo_tree *tree, uint64_t period_ns);
KYMO_NODISCARD
kymo_err kymo_tree_set_wall_period(kymo_tree *tree, uint64_t period_ns);

/* ---- tree_status.c ---- */

/* What the recorder does, as one object of JSON. */
KYMO_NODISCARD
kymo_err kymo_tree_write_status(const kymo_tree *tree, kymo_bytes *text);

/* ---- tree_relatives.c ---- */

/* This process has attached, or is no longer expected; 0: all of them. */
void kymo_tree_forget_relatives(kymo_tree *tree, pid_t pid);

/* ---- tree_outside.c ---- */

/* A process runs this without us, or soon will, or has started a process that does. If it may be
 * sampled from outside it is looked for; else, or if it is not found, it is noted. writer: who has
 * said so. */
KYMO_NODISCARD
kymo_err kymo_tree_await(kymo_tree *tree, const struct kymo_tree_image *writer,
                         const struct kymo_refusal *refusal);
/* Begins to sample what is found by now of that, and of what images without our library have
 * started or have become. To be called at tree->look_ns. */
KYMO_NODISCARD
kymo_err kymo_tree_look_outside(kymo_tree *tree, uint64_t now_ns);
/* For hosts (struct kymo_host_config). */
KYMO_NODISCARD
kymo_err kymo_tree_on_relative(void *tree, pid_t parent, pid_t child);
/* Notes what was not found, and how many were not. */
KYMO_NODISCARD
kymo_err kymo_tree_end_awaiting(kymo_tree *tree);

/* ---- tree.c ---- */

/* The image of a process; NULL: none. */
struct kymo_tree_image *kymo_tree_find(const kymo_tree *tree, pid_t pid);
/* Whether there is no such process. Does not use /proc, which needs a descriptor: there may be none
 * left. */
int kymo_tree_is_gone(pid_t pid);
/* Notes the unrecorded programs that it has started. */
KYMO_NODISCARD
kymo_err kymo_tree_read_refusals(struct kymo_tree_image *image);
/* Notes, once, that the process runs another program. */
KYMO_NODISCARD
kymo_err kymo_tree_tell_replacement(struct kymo_tree_image *image, uint64_t now_ns);

/* ---- tree_end.c ---- */

/* Ends an image and frees it; followed: the process has attached a next image. */
KYMO_NODISCARD
kymo_err kymo_tree_end_image(kymo_tree *tree, struct kymo_tree_image *image,
                             const struct kymo_tree_ending *ending, int is_followed);
/* Reads more of an image whose process has ended; ends it when all is read. */
KYMO_NODISCARD
kymo_err kymo_tree_go_on_ending(kymo_tree *tree, struct kymo_tree_image *image);
/* Frees an image that did not get into the recording, or that is complete. */
void kymo_tree_drop_image(kymo_tree *tree, struct kymo_tree_image *image);
/* The process of an image has ended. context: the image. */
KYMO_NODISCARD
kymo_err kymo_tree_image_ended(void *image);

#endif
