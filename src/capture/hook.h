/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - what the files with hooks share: how one is exported, and how it finds the real
 * function.
 *
 * Layer:    capture
 * Threads:  any
 * Signals:  KYMO_REAL calls dlsym the first time: what a handler may reach is found at start
 */
#ifndef KYMO_CAPTURE_HOOK_H
#define KYMO_CAPTURE_HOOK_H

#include <dlfcn.h>

#include "base/atomic.h"
#include "base/attr.h"

#define KYMO_HOOK __attribute__((visibility("default")))

/* Hooks can be called before our constructor ran: other libraries have constructors, too. Finding
 * the same function twice at once is harmless. */
#define KYMO_REAL(variable, type, name)              \
    ({                                               \
        type *found_ = kymo_load_relaxed(&variable); \
        if (kymo_unlikely(!found_)) {                \
            found_ = (type *)dlsym(RTLD_NEXT, name); \
            kymo_store_relaxed(&variable, found_);   \
        }                                            \
        found_;                                      \
    })

#endif
