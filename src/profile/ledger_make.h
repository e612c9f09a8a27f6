/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_make.h - the RSS breakdown of a process, from what the recorder measured and what its
 * threads recorded.
 *
 * Layer:    profile (cold half only); above base
 * Flow:     lines of a recording, rows of allocations and mappings -> [ledger_make]
 *           -> table of ledgers
 * Threads:  one owner at a time
 * Memory:   a temporary word for each allocation and mapping
 * Signals:  not for handlers
 *
 * The recorder measures resident memory from outside: of files, stacks, shared memory and of Kymo
 * itself, and the pieces of private memory. Each page of a piece belongs to
 *
 *   - a mapping that the program made and that existed then;
 *   - or the allocator, if it said so (brk, its own mappings), if an allocation lies in the area,
 *     or if it has taken that much from the system;
 *   - or no known owner: unexplained.
 *
 * The allocator's memory is split into: requested bytes of live allocations (an estimate with an
 * interval), what these have beyond the requested bytes, and free memory that the allocator keeps.
 * The allocator's own count of bytes in allocations is exact where the estimate is not. So it is
 * used as far as it is within the interval; what is beyond remains unexplained: allocations that
 * were not seen. The count is of another moment, and is corrected by what the samples say of the
 * time between. The remainder is unexplained and may be negative, so the lines add up to the
 * resident memory.
 */
#ifndef KYMO_PROFILE_LEDGER_MAKE_H
#define KYMO_PROFILE_LEDGER_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kymo/profile.h"

/* lines: of one process, of one or more times, in any order; the function sorts them. Lines of a
 * time without pieces become rows unchanged. The process's allocations, mappings and heap have
 * been added. */
KYMO_NODISCARD
kymo_err kymo_ledger_make_all(kymo_profile *profile, uint32_t process, kymo_ledger *lines,
                              size_t count);

#endif
