/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_cost.h - what one sample costs the program on this machine, and so how often it can be
 * sampled.
 *
 * Layer:    launch
 * Flow:     launch.c -> [sample_cost] -> the period of the recording
 * Threads:  the recorder's one thread
 * Signals:  measures with SIGURG sent to itself; the action and the mask are as before afterwards
 *
 * In a virtual machine a sample may cost 30 us, most of it the interrupt: with --cpu=20us a program
 * would do nothing else: its CPU clock, which the samples wait for, counts what they take.
 */
#ifndef KYMO_LAUNCH_SAMPLE_COST_H
#define KYMO_LAUNCH_SAMPLE_COST_H

#include <stdint.h>

#include "observe/perf_event.h"

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
