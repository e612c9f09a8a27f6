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
#include "observe/perf_event.h"
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
uint64_t kymo_launch_choose_buffer(uint64_t asked, uint64_t alloc_rate, int traces);

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

/* In the environment of a program whose Python calls are traced: kymo.pth, in the folder of
 * packages of each interpreter that has the package, looks for it. It may hold options of the
 * user's (python/kymo/_start.py). */
#define KYMO_TRACE_PYTHON_ENV "KYMO_TRACE_PYTHON"

struct kymo_launch_program {
    char *const *argv;
    const char *preload;                  /* the library; NULL: it is not for this program */
    const char *socket;                   /* the way to the recorder */
    int traces_python;                    /* 1: tells interpreters so (KYMO_TRACE_PYTHON_ENV) */
    void (*restore)(const void *context); /* called between fork and exec */
    const void *context;
};

/* Starts it. *pid is written on success only; why it could not be started is in detail. */
KYMO_NODISCARD
kymo_err kymo_launch_start_program(const struct kymo_launch_program *program, pid_t *pid,
                                   kymo_error *detail);

/* sample_cost.c: what one sample costs the program on this machine, and so how often it can be
 * sampled.
 *
 * In a virtual machine a sample may cost 30 us, most of it the interrupt: with --cpu=20us a program
 * would do nothing else: its CPU clock, which the samples wait for, counts what they take.
 */

/* From this period on no sample of any machine known is too dear: 10 % of it are 50 us. */
#define KYMO_PERIOD_ALWAYS_AFFORDABLE_NS 500000u

/* CPU time of one sample of the perf engine with this access, in nanoseconds; measured in some 5 ms
 * of CPU time. 0: not known. */
uint64_t kymo_sample_cost_perf_ns(enum kymo_perf_access access);
/* The same of a sample that another CPU asks for by a signal. */
uint64_t kymo_sample_cost_signal_ns(void);

/* The period to sample with: as asked for, or the least with which samples take this part of the
 * program's CPU time (percent, above 0). */
uint64_t kymo_affordable_period_ns(uint64_t asked_ns, uint64_t cost_ns, uint64_t percent);

#endif
