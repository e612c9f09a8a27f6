/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen.h - which modules of a process allocate with functions that are inside the module, where
 * no hook can be put.
 *
 * Layer:    observe
 * Flow:     session_events.c (a module) -> [unseen] -> heap_events.c (what is not seen)
 * Threads:  the recorder's one thread
 * Memory:   owned; an entry for each file
 * Signals:  not for handlers
 *
 * jemalloc and its like are often linked into a program under a prefix: what it calls is in the
 * same file, and goes past every preloaded library. Nothing of it is recorded, and that must be
 * said: a heap without a leak would be a lie. A library that exports malloc is one that we stand in
 * front of, whatever else it has; so is one called malloc whose functions we know by other names.
 * Files without symbols tell nothing: heap_events.c
 * looks at the balance.
 */
#ifndef KYMO_OBSERVE_UNSEEN_H
#define KYMO_OBSERVE_UNSEEN_H

#include "base/error.h"

typedef struct kymo_unseen kymo_unseen;

KYMO_NODISCARD
kymo_err kymo_unseen_create(kymo_unseen **out);
/* NULL is allowed. */
void kymo_unseen_destroy(kymo_unseen *unseen);

/* The name of a function that allocates in the file at path; NULL: none that is known. Each file is
 * read once. */
const char *kymo_unseen_find(kymo_unseen *unseen, const char *path);

#endif
