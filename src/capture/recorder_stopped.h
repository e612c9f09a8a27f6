/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_stopped.h - whether the recorder has been stopped, as by SIGSTOP: it will not answer
 * before it goes on.
 *
 * Layer:    capture
 * Threads:  any
 * Memory:   none
 * Signals:  safe: raw system calls
 */
#ifndef KYMO_CAPTURE_RECORDER_STOPPED_H
#define KYMO_CAPTURE_RECORDER_STOPPED_H

#include <stdint.h>

#include "base/attr.h"

/* The recorder's process id, which is part of the name of its socket (recorder/attach_server.c); 0:
 * the name has none. In another pid namespace it is the id of another process, or of none. */
KYMO_SIGNAL_SAFE uint32_t kymo_recorder_pid(const char *attach_name);

/* As /proc says it; 0 where that says nothing. */
KYMO_SIGNAL_SAFE int kymo_recorder_is_stopped(uint32_t pid);

#endif
