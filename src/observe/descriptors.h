/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors.h - how many of the recorder's descriptors each use may take.
 *
 * Layer:    observe; above base
 * Threads:  any
 * Memory:   none
 *
 * The kernel gives out the lowest free number, so a number tells how many there are. What comes
 * first leaves room for what is needed more: times of busy threads, images, calls that threads wait
 * in, threads' clocks, perf events; an eighth is left for what is opened and closed again, without
 * which the recorder would know nothing of new threads.
 */
#ifndef KYMO_OBSERVE_DESCRIPTORS_H
#define KYMO_OBSERVE_DESCRIPTORS_H

enum kymo_descriptor_use {
    KYMO_DESCRIPTORS_TIMES = 1, /* eighths of RLIMIT_NOFILE */
    KYMO_DESCRIPTORS_IMAGES = 3,
    KYMO_DESCRIPTORS_CALLS = 4,
    KYMO_DESCRIPTORS_WATCH = 6,
    KYMO_DESCRIPTORS_EVENTS = 7,
};

/* The number from which on a descriptor of this use is to be closed again. */
int kymo_descriptors_for(enum kymo_descriptor_use use);
/* fd; or -1 and EMFILE, with fd closed, where this use may not have it. A negative one stays. */
int kymo_descriptors_keep(int fd, enum kymo_descriptor_use use);
/* Whether fewer than count are free. fd: any that is open. */
int kymo_descriptors_run_short(int fd, int count);

#endif
