/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - all process images of a recording, from their attaching to their ends.
 *
 * Layer:    recorder
 * Flow:     programs -> attach_server -> [tree] -> a host for each image -> recording writer
 * Threads:  the recorder's main thread
 * Memory:   owns the hosts
 * Signals:  not for handlers
 *
 *   create -> program -> wait, round, wait, round ... -> finish -> destroy
 *
 * An image is what a process runs between a fork or exec and its end or next exec. A process may
 * attach an image at any time if it knows the name of our socket, which is in the environment of
 * the program that we started. It must also run as our user, or descend from the program.
 */
#ifndef KYMO_RECORDER_TREE_H
#define KYMO_RECORDER_TREE_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "recorder/host.h"

typedef struct kymo_tree kymo_tree;

/* How a process ended, as far as that is known. */
struct kymo_tree_ending {
    uint64_t end_ns;
    int wait_status;      /* -1: not known */
    uint64_t cpu_ns;      /* its own CPU clock at the end, of all its images; 0: not known */
    uint64_t user_ns;     /* part of cpu_ns, if that is known */
    uint64_t main_cpu_ns; /* its main thread's; 0: not known */
};

/* config->tables, next_thread and tick_threads are the tree's to set. */
KYMO_NODISCARD
kymo_err kymo_tree_create(const struct kymo_host_config *config, kymo_tree **out,
                          kymo_error *detail);
void kymo_tree_destroy(kymo_tree *tree);

/* The name of its socket, for the environment of what is to be recorded. */
const char *kymo_tree_socket(const kymo_tree *tree);
/* The process that was launched. Its first image is process 0 of the recording, whose event the
 * caller writes, as it tells the tree of its end (kymo_tree_ended). */
void kymo_tree_set_program(kymo_tree *tree, pid_t pid, uint64_t start_ns);

/* Waits until until_ns (CLOCK_MONOTONIC) or a signal that mask lets in, and serves what comes
 * meanwhile: images that attach, threads that begin, processes that end. */
KYMO_NODISCARD
kymo_err kymo_tree_wait(kymo_tree *tree, uint64_t until_ns, const sigset_t *mask);
/* Whether some image has written more than could be read so far. */
int kymo_tree_is_behind(const kymo_tree *tree);
/* One round of every image. */
KYMO_NODISCARD
kymo_err kymo_tree_round(kymo_tree *tree);

/* A look at every thread of every image, for wall time. */
KYMO_NODISCARD
kymo_err kymo_tree_tick(kymo_tree *tree, uint64_t now_ns);

/* How many processes are there, those that are about to attach, or may, included; not those that
 * have ended and are being read. */
uint32_t kymo_tree_alive(const kymo_tree *tree);
/* Looks for processes that may attach yet: forked ones that have not done anything, started ones
 * that are not ready. They count as alive until they end. To be called when no other process is
 * alive. */
KYMO_NODISCARD
kymo_err kymo_tree_look_for_more(kymo_tree *tree);
/* Threads of the perf engine that were sampled by the tick alone. */
const struct kymo_tick_threads *kymo_tree_tick_threads(const kymo_tree *tree);
/* How many images ever attached. */
uint32_t kymo_tree_recorded(const kymo_tree *tree);
/* CPU time of the images that have ended. */
uint64_t kymo_tree_cpu_ns(const kymo_tree *tree);
/* Of the whole tree this much more is in no sample; after finish. */
KYMO_NODISCARD
kymo_err kymo_tree_add_unsampled(kymo_tree *tree, uint64_t cpu_ns);

/* The process has ended, which the caller has learnt; what it has left is read in turns. *process
 * is the number of its last image, UINT32_MAX if it had none. */
KYMO_NODISCARD
kymo_err kymo_tree_ended(kymo_tree *tree, pid_t pid, const struct kymo_tree_ending *ending,
                         uint32_t *process);

/* No more samples, and no more images. */
void kymo_tree_stop(kymo_tree *tree);
/* Ends the recording of what still runs, and writes what is left to be said. */
KYMO_NODISCARD
kymo_err kymo_tree_finish(kymo_tree *tree, uint64_t end_ns);

#endif
