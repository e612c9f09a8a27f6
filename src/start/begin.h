/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin.h - this process begins to be recorded.
 *
 * Layer:    start
 * Flow:     preload.c, at the start of a program; agent.c, in one that runs -> [begin]
 * Threads:  one at a time, and once in a process
 * Memory:   the session and what is mapped beside it, for the rest of the process
 * Signals:  not for handlers
 */
#ifndef KYMO_START_BEGIN_H
#define KYMO_START_BEGIN_H

#include "capture/connect.h"

/* attach -> map our own memory -> walker, handler, the calling thread -> GO. NULL: this process is
 * recorded; else why it is not, a literal: the process goes on as if nothing had been. */
const char *kymo_begin(const struct kymo_attach_call *call);

#endif
