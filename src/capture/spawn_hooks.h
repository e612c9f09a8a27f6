/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn_hooks.h - posix_spawn, posix_spawnp, system and popen.
 *
 * Layer:    capture
 * Threads:  any thread of the program
 * Signals:  not for handlers, like what they wrap
 */
#ifndef KYMO_CAPTURE_SPAWN_HOOKS_H
#define KYMO_CAPTURE_SPAWN_HOOKS_H

#include "base/attr.h"

/* Finds the real functions; 0 if one does not exist. Start only. */
int kymo_spawn_hooks_init(void);

/* env; or the program's own, if env is the one that stands in its place for the moment of a popen.
 */
KYMO_SIGNAL_SAFE char *const *kymo_spawn_hooks_program_env(char *const *env);

/* In a forked child: undoes a popen that another thread was in the middle of, since that thread
 * does not exist there. Safe in handlers. */
void kymo_spawn_hooks_after_fork(void);

#endif
