/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_make.h - whose the memory of a process is, of what its recorder saw and what its threads
 * did.
 *
 * Layer:    profile (cold half only); above base
 * Flow:     lines of a recording, rows of blocks and mappings -> [ledger_make] -> table of ledgers
 * Threads:  one owner at a time
 * Memory:   a word for each block and mapping, for a moment
 * Signals:  not for handlers
 *
 * The recorder sees from outside what is resident: of files, stacks, shared memory and itself, and
 * pieces of the process's own. Of these, each page belongs to
 *
 *   - a mapping that the program made and that was there then;
 *   - or the allocator, if it said so (brk, a mapping of its own), or a block lies in the area, or
 *     it has taken so much from the system;
 *   - or no known owner: unexplained.
 *
 * What the allocator has is split again: what live blocks were asked for (an estimate, with its
 * interval), what they have beyond that, what is free and kept. The allocator's own figure of what
 * is in blocks is exact where the estimate is not, so within the interval that one is taken, and
 * what is beyond stays unexplained: blocks that were not seen. It is of another moment, and is
 * carried to this one by what the samples say of the time between. All that is left is unexplained,
 * and may be negative; so the lines add up to what is resident.
 */
#ifndef KYMO_PROFILE_LEDGER_MAKE_H
#define KYMO_PROFILE_LEDGER_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kymo/profile.h"

/* lines: of one process as they came, of one or more times; they are put in order. Lines of a time
 * without pieces become rows as they are. The process's blocks and mappings are there, and its
 * heap. */
KYMO_NODISCARD
kymo_err kymo_ledger_make_all(kymo_profile *profile, uint32_t process, kymo_ledger *lines,
                              size_t count);

#endif
