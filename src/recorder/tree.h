/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - all process images of a recording, from attaching to their end.
 *
 * Layer:    recorder
 * Flow:     programs -> attach_server -> [tree] -> a host for each image -> recording writer
 * Threads:  the recorder's main thread
 * Memory:   owns the hosts
 * Signals:  not for handlers
 *
 *   create -> program -> wait, round, wait, round ... -> finish -> destroy
 *
 * An image is what a process runs from a fork or exec to its end or the next exec. A process can
 * attach an image at any time if it knows the name of our socket, which is in the environment of
 * the program that we started. It must also run as our user, or descend from the program.
 */
#ifndef KYMO_RECORDER_TREE_H
#define KYMO_RECORDER_TREE_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "recorder/host.h"

typedef struct kymo_tree kymo_tree;

/* How a process ended, as far as known. */
struct kymo_tree_ending {
    uint64_t end_ns;
    int wait_status;      /* -1: not known */
    uint64_t cpu_ns;      /* CPU clock of the process at its end, for all its images; 0: not
                           * known */
    uint64_t user_ns;     /* user time in cpu_ns, if known */
    uint64_t main_cpu_ns; /* CPU clock of its main thread; 0: not known */
};

/* The tree sets config->tables, next_thread and tick_threads. */
KYMO_NODISCARD
kymo_err kymo_tree_create(const struct kymo_host_config *config, kymo_tree **out,
                          kymo_error *detail);
void kymo_tree_destroy(kymo_tree *tree);

/* The name of its socket, for the environment of recorded programs. */
const char *kymo_tree_socket(const kymo_tree *tree);
/* Sets the launched process. Its first image is process 0 of the recording. The caller writes
 * the event of that process, and reports its end (kymo_tree_ended). */
void kymo_tree_set_program(kymo_tree *tree, pid_t pid, uint64_t start_ns);

/* The launched process runs, without our library in it, for the reason `why` ("it is statically
 * linked"): its samples are taken from outside, and those of all that it starts.
 * KYMO_E_NOT_FOUND: it has ended; detail says so. */
KYMO_NODISCARD
kymo_err kymo_tree_watch_outside(kymo_tree *tree, const char *why, kymo_error *detail);

/* What the owner of a recording answers to `kymo control`, beside what the tree knows. */
struct kymo_tree_owner {
    /* The present interval is to end in this round or the next one; NULL: there are none. */
    void (*flush)(void *context);
    /* The period that is affordable where this one was asked for; NULL: any is. */
    uint64_t (*affordable_ns)(void *context, uint64_t asked_ns);
    /* Writes members of the object that the status is; NULL: there are none. */
    void (*status)(void *context, kymo_json *json);
    /* Settings are to be others, as `text` says; NULL: the owner has none. detail says why not. */
    kymo_err (*change)(void *context, const char *text, kymo_error *detail);
    void *context;
};
void kymo_tree_set_owner(kymo_tree *tree, const struct kymo_tree_owner *owner);

/* Settings of a running recording that are to be others. */
struct kymo_tree_change {
    uint64_t cpu_period_ns, wall_period_ns, counters_period_ns; /* 0: as it is */
    int sets_alloc;
    uint64_t alloc_bytes; /* 0: off */
    const char *markers;  /* NULL: as it is */
};
/* All of them, or none: KYMO_E_UNSUPPORTED, and detail says which is not recorded. */
KYMO_NODISCARD
kymo_err kymo_tree_change(kymo_tree *tree, const struct kymo_tree_change *change,
                          kymo_error *detail);

/* The recording goes on in another file, which is open for reading, too; -1: it has ended. */
void kymo_tree_set_spool(kymo_tree *tree, int spool);
/* The recording has ended in the present file, or goes on in another one: the first `bytes` of it
 * are kept if a request for a profile needs them. */
void kymo_tree_keep_interval(kymo_tree *tree, uint64_t bytes, uint64_t end_ns);

/* The program is not the caller's child: the tree itself sees its end. After set_program. */
void kymo_tree_watch_program(kymo_tree *tree);

/* Waits until until_ns (CLOCK_MONOTONIC), or for a signal that mask lets in. Meanwhile serves
 * images that attach, new threads, and processes that end. */
KYMO_NODISCARD
kymo_err kymo_tree_wait(kymo_tree *tree, uint64_t until_ns, const sigset_t *mask);
/* Whether an image has written more than was read so far. */
int kymo_tree_is_behind(const kymo_tree *tree);
/* One round of every image. */
KYMO_NODISCARD
kymo_err kymo_tree_round(kymo_tree *tree);

/* After a round: writes what is known by now, since an interval of the recording ends. */
KYMO_NODISCARD
kymo_err kymo_tree_end_interval(kymo_tree *tree);

/* Whether `kymo control pause` was the last: then there are no ticks of wall time. */
int kymo_tree_is_paused(const kymo_tree *tree);

/* Samples every thread of every image, for wall time. */
KYMO_NODISCARD
kymo_err kymo_tree_tick(kymo_tree *tree, uint64_t now_ns);

/* The number of live processes, including those that are about to attach, or may; without those
 * that have ended and are still being read. */
uint32_t kymo_tree_alive(const kymo_tree *tree);
/* Searches for processes that may still attach: forked children without activity, and started
 * programs that are not ready. They count as alive until they end. Call it when no other process
 * is alive. */
KYMO_NODISCARD
kymo_err kymo_tree_look_for_more(kymo_tree *tree);
/* Threads of the perf engine that are sampled at the kernel tick only. */
const struct kymo_tick_threads *kymo_tree_tick_threads(const kymo_tree *tree);
/* How many images have attached so far. */
uint32_t kymo_tree_recorded(const kymo_tree *tree);
/* CPU time of the images that have ended. */
uint64_t kymo_tree_cpu_ns(const kymo_tree *tree);
/* Adds CPU time of the tree that is in no sample; after finish. */
KYMO_NODISCARD
kymo_err kymo_tree_add_unsampled(kymo_tree *tree, uint64_t cpu_ns);

/* The caller knows that the process has ended. What it left is read in turns. *process is the
 * number of its last image, UINT32_MAX if it had none. */
KYMO_NODISCARD
kymo_err kymo_tree_ended(kymo_tree *tree, pid_t pid, const struct kymo_tree_ending *ending,
                         uint32_t *process);

/* Ends sampling, and accepts no more images. */
void kymo_tree_stop(kymo_tree *tree);
/* Ends the recording of live images, and writes the final events. */
KYMO_NODISCARD
kymo_err kymo_tree_finish(kymo_tree *tree, uint64_t end_ns);

#endif
