/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall_stacks.h - stacks that were walked from outside, and names of calls, as events.
 *
 * Layer:    observe
 * Flow:     remote.c -> [wall_stacks] -> events: modules, stacks, waits
 * Threads:  the recorder's main thread
 * Memory:   its own tables
 * Signals:  not for handlers
 *
 * The drain numbers the stacks and modules that it finds in the session from 0; those from outside
 * are numbered from KYMO_WALL_FIRST on (those with the kernel's part from 0x80000000), modules up
 * to KYMO_JIT_FIRST_MODULE. A module may so have two numbers; who reads the recording finds that
 * they are the same.
 */
#ifndef KYMO_OBSERVE_WALL_STACKS_H
#define KYMO_OBSERVE_WALL_STACKS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/vec.h"
#include "observe/remote.h"
#include "recording/events.h"
#include "symbolize/jit_code.h"

#define KYMO_WALL_FIRST 0xc0000000u

/* Names of waits, one table for the whole recording: by the number of the system call. */
typedef struct kymo_wait_names kymo_wait_names;
enum { KYMO_WAIT_STOPPED = -2, KYMO_WAIT_NONE = -1 };

KYMO_NODISCARD
kymo_err kymo_wait_names_create(const kymo_event_handler *events, void *context,
                                kymo_wait_names **out);
void kymo_wait_names_destroy(kymo_wait_names *names);
/* The wait's id, which is announced when it is new; 0 for what has no name. */
KYMO_NODISCARD
kymo_err kymo_wait_names_get(kymo_wait_names *names, int call, uint32_t *wait);

struct kymo_wall_stack {
    uint32_t id;
    uint32_t first; /* in pcs */
    uint32_t n;
    uint32_t flags;
    uint64_t generation; /* of the modules */
};

/* Private but for remote and jit. */
struct kymo_wall_stacks {
    const kymo_event_handler *events;
    void *context;
    uint32_t process;
    kymo_remote *remote;
    kymo_jit_code *jit; /* told of what is outside every module; may be NULL */
    uint32_t next_module, next_stack;
    KYMO_VEC(struct kymo_wall_stack) stacks;
    KYMO_VEC(uint64_t) pcs;
    KYMO_VEC(kymo_event_frame) frames; /* scratch */
    kymo_index index;
};

/* The id of the stack that a walk found; it is announced when it is new. */
KYMO_NODISCARD
kymo_err kymo_wall_stacks_get(struct kymo_wall_stacks *s, const uint64_t *pcs, size_t n,
                              const struct kymo_walk_result *walk, uint32_t *id);
void kymo_wall_stacks_deinit(struct kymo_wall_stacks *s);

#endif
