/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_start.h - the steps of a start, each of which needs nothing of the others.
 *
 * Layer:    launch; above host.h and recording.h
 * Flow:     launch.c -> [launch_choose.c] -> [launch_events.c] -> [launch_program.c]
 * Threads:  the recorder's, its only one
 * Memory:   the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_LAUNCH_LAUNCH_START_H
#define KYMO_LAUNCH_LAUNCH_START_H

#include <stdint.h>
#include <sys/types.h>

#include "launch/launch.h"
#include "recorder/host.h"
#include "recording/recording.h"

#define KYMO_REASON_MAX 160 /* bytes of the text that says why this engine */

/* launch_choose.c: which of the requested features the system allows. */

/* asked: an engine of options.h. Fills in config's engine, access and spares_switchers; config's
 * signal is set before. KYMO_E_UNSUPPORTED, or why perf events cannot be had. */
KYMO_NODISCARD
kymo_err kymo_launch_choose_engine(uint64_t asked, struct kymo_host_config *config,
                                   char reason[KYMO_REASON_MAX], kymo_error *detail);
/* Bytes of a session; asked: 0 for what the memory allows, and that rate of allocations wants. */
uint64_t kymo_launch_choose_buffer(uint64_t asked, uint64_t alloc_rate);

/* launch_events.c: what a recording says before anything has run. */

/* Chooses config's clock, too; *start_ns is when the recording begins. */
KYMO_NODISCARD
kymo_err kymo_launch_write_meta(kymo_recording_writer *writer, const kymo_launch_options *asked,
                                struct kymo_host_config *config, const char *engine_reason,
                                uint64_t *start_ns);
/* The program, just started, as process 0. */
KYMO_NODISCARD
kymo_err kymo_launch_write_process(kymo_recording_writer *writer, const kymo_launch_options *asked,
                                   pid_t pid, uint64_t start_ns);

/* launch_program.c */

struct kymo_launch_program {
    char *const *argv;
    const char *preload;                  /* the library */
    const char *socket;                   /* the way to the recorder */
    void (*restore)(const void *context); /* called between fork and exec */
    const void *context;
};

/* Starts it. *pid is written on success only; why it could not be started is in detail. */
KYMO_NODISCARD
kymo_err kymo_launch_start_program(const struct kymo_launch_program *program, pid_t *pid,
                                   kymo_error *detail);

#endif
