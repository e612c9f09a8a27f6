/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - where Kymo's own files lie: beside the running kymo, installed or in a build tree.
 *
 * Layer:    launch; above base
 * Threads:  any
 * Memory:   the caller's buffers
 * Signals:  not for handlers
 */
#ifndef KYMO_LAUNCH_PATHS_H
#define KYMO_LAUNCH_PATHS_H

#include <limits.h>

#include "base/error.h"

/* The absolute path of libkymo-preload.so, or with alloc of libkymo-preload-alloc.so: what the
 * environment's KYMO_PRELOAD names or what lies beside that, else LIBDIR/kymo/ of the prefix that
 * kymo itself is installed in, else the build tree that it lies in. KYMO_E_NOT_FOUND if there is
 * none that can be read. */
KYMO_NODISCARD
kymo_err kymo_paths_preload(int alloc, char out[PATH_MAX], kymo_error *detail);

/* The absolute path of a library of Kymo: LIBDIR/kymo/ of the prefix that kymo itself is installed
 * in, else src/FOLDER/ of the build tree that it lies in. KYMO_E_NOT_FOUND as above. */
KYMO_NODISCARD
kymo_err kymo_paths_library(const char *name, const char *folder, char out[PATH_MAX],
                            kymo_error *detail);

/* Whether path may stand in LD_PRELOAD, which the loader takes apart at spaces and colons, and is
 * not too long for the library. */
int kymo_paths_preloadable(const char *path);
/* Makes a link to the library by a path that may, in a folder of its own in TMPDIR or /tmp. link is
 * written on success; the caller gives it to kymo_paths_unlink once the program has loaded it. */
KYMO_NODISCARD
kymo_err kymo_paths_link(const char *library, char link[PATH_MAX], kymo_error *detail);
/* Takes link and its folder away and empties it; nothing happens if it is empty. */
void kymo_paths_unlink(char link[PATH_MAX]);

#endif
