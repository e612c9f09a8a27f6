/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h - a part of a profile: a range of time, some threads or processes, some functions.
 *
 * Layer:    select; above base, profile
 * Flow:     cli/select_request.c -> [select] -> copy.h -> views/, encode/
 * Threads:  one owner at a time
 * Memory:   what a selection points to is the caller's
 * Signals:  not for handlers
 *
 * What goes: threads and processes that do not match or did not live in the range; samples outside
 * of the range, and without a matching function (of elapsed time, which a sample may stand for a
 * long while of, the part outside of the range goes); allocations and mappings that were made
 * outside of the range or are without one; markers that do not overlap the range. Counters keep the
 * value before the range. Markers and counters have no functions to match: those of kept threads
 * and processes stay. With focus or ignore a thread stays if a sample or an allocation of it does.
 * Losses of markers have no thread and no time: those of names that are left stay, as they are.
 */
#ifndef KYMO_SELECT_SELECT_H
#define KYMO_SELECT_SELECT_H

#include <regex.h>

#include "base/error.h"
#include "kymo/profile.h"
#include "select/sanitize.h"

#define KYMO_SELECT_NAMES_MAX 64u

/* Names are patterns of fnmatch(3), or numbers: a tid or pid. One that matches is enough. */
typedef struct kymo_selection {
    uint64_t from_ns, to_ns; /* since the recording's start, both included; UINT64_MAX: all */
    const char *threads[KYMO_SELECT_NAMES_MAX];
    const char *processes[KYMO_SELECT_NAMES_MAX];
    uint32_t thread_count, process_count; /* 0: all */
    const regex_t *focus, *ignore;        /* of names of functions; NULL: none */
    int may_be_empty;                     /* a part without anything in it is no error */
} kymo_selection;

#define KYMO_SELECTION_ALL                \
    {                                     \
        .from_ns = 0, .to_ns = UINT64_MAX \
    }

/* Whether it leaves anything out. */
int kymo_selection_is_part(const kymo_selection *selection);

/* The selected part of a finished profile, which the caller owns, as a finished profile. sanitizer:
 * see kymo_profile_copy. KYMO_E_NOT_FOUND: there are no samples, markers, allocations or mappings
 * in it, and detail says why; KYMO_E_NOMEM, KYMO_E_TOO_BIG. detail may be NULL. */
KYMO_NODISCARD
kymo_err kymo_select(const kymo_profile *profile, const kymo_selection *selection,
                     kymo_sanitizer *sanitizer, kymo_profile **out, kymo_error *detail);

#endif
