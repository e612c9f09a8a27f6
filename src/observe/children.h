/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.h - which processes a process has started that have not been reaped.
 *
 * Layer:    observe
 * Flow:     /proc/PID/task/TID/children -> [children] -> recorder
 * Threads:  any
 * Memory:   the caller's list
 * Signals:  not for handlers
 */
#ifndef KYMO_OBSERVE_CHILDREN_H
#define KYMO_OBSERVE_CHILDREN_H

#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

typedef KYMO_VEC(pid_t) kymo_pids;

/* Adds the children of all its threads. Adds none if it has ended, or on a kernel that does not
 * tell. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_children_add(pid_t pid, kymo_pids *pids);

#endif
