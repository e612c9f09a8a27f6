/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - loading a part of a recording, for those who finish it.
 *
 * Layer:    symbolize; beside kymo/recording.h
 * Flow:     .kymo -> [load] -> a profile of modules and stacks -> store_symbols.c
 * Threads:  one owner
 * Memory:   as by kymo_recording_load
 * Signals:  not for handlers
 */
#ifndef KYMO_SYMBOLIZE_LOAD_H
#define KYMO_SYMBOLIZE_LOAD_H

#include "base/error.h"
#include "kymo/profile.h"
#include "kymo/recording.h"

/* From the beginning of fd, a file: modules and stacks without samples, markers and allocations,
 * which are most of a recording. *end_at: where its END block begins; 0: it has none. */
KYMO_NODISCARD
kymo_err kymo_recording_load_code(int fd, kymo_profile **out, kymo_recording_info *info,
                                  uint64_t *end_at, kymo_error *detail);

#endif
