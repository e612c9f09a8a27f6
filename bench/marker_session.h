/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_session.h - markers that are recorded in the process that makes them, and not read.
 */
#ifndef KYMO_BENCH_MARKER_SESSION_H
#define KYMO_BENCH_MARKER_SESSION_H

#include "kymo/marker_abi.h"

/* Attaches the link to it; 0 if all is well. It is in marker_count alone. */
__attribute__((weak)) int marker_session_open(struct kymo_mark_link *link);
/* Bytes that the calling thread's markers have in the block that they are in. */
__attribute__((weak)) uint32_t marker_session_used(void);

#endif
