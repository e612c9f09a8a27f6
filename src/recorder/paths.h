/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - where Kymo's own files lie: beside the running kymo, installed or in a build tree.
 *
 * Layer:    recorder; above base
 * Threads:  any
 * Memory:   the caller's buffers
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDER_PATHS_H
#define KYMO_RECORDER_PATHS_H

#include <limits.h>

#include "base/error.h"

/* The absolute path of libkymo-preload.so: what the environment's KYMO_PRELOAD names, else
 * LIBDIR/kymo/ of the prefix that kymo itself is installed in, else the build tree that it lies in.
 * KYMO_E_NOT_FOUND if there is none that can be read; KYMO_E_UNSUPPORTED if its path has a space
 * or a colon, at which the loader would take it apart. */
KYMO_NODISCARD
kymo_err kymo_paths_preload(char out[PATH_MAX], kymo_error *detail);

#endif
