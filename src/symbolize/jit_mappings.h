/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_mappings.h - the second places at which a process has mapped code of its modules.
 *
 * Layer:    symbolize
 * Flow:     modules, /proc/PID/maps -> [jit_mappings] -> jit_code.c
 * Threads:  the recorder's one thread
 * Memory:   the structure is the caller's and owns its tables; zero bytes are a valid, empty one
 * Signals:  not for handlers
 *
 * V8 calls its built-in code through short jumps, so it maps it anew near the code that it makes.
 * The loader knows nothing of that place.
 */
#ifndef KYMO_SYMBOLIZE_JIT_MAPPINGS_H
#define KYMO_SYMBOLIZE_JIT_MAPPINGS_H

#include <sys/types.h>

#include "base/vec.h"
#include "recording/events.h"

struct kymo_jit_mappings {
    KYMO_VEC(kymo_event_module) modules; /* path and build_id are owned */
    KYMO_VEC(struct kymo_jit_mapping {
        uint64_t start;
        uint64_t end;
        uint64_t offset;
        size_t module;
    })
    mappings;
};

void kymo_jit_mappings_deinit(struct kymo_jit_mappings *m);
KYMO_NODISCARD
kymo_err kymo_jit_mappings_module(struct kymo_jit_mappings *m, const kymo_event_module *module);
/* While the process lives: looks which executable mappings there are of the files of its modules.
 */
void kymo_jit_mappings_look(struct kymo_jit_mappings *m, pid_t pid);
/* As a module of its own, but for its numbers; the texts live as long as m. */
void kymo_jit_mappings_get(const struct kymo_jit_mappings *m, size_t mapping,
                           kymo_event_module *out);

#endif
