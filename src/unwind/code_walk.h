/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_walk.h - the row of a frame of whose pc no unwind information says anything, from the code.
 *
 * Layer:    unwind; above base
 * Flow:     unwind.c -> [code_walk] -> arch/code_row.h
 * Threads:  one walk
 * Memory:   none
 * Signals:  safe
 */
#ifndef KYMO_UNWIND_CODE_WALK_H
#define KYMO_UNWIND_CODE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"
#include "base/attr.h"
#include "unwind/stack_window.h"

/* A packed row by which the caller of the frame is found; KYMO_ROW_END: it has none; KYMO_ROW_GAP:
 * the code gives no row; KYMO_ROW_NONE: it gives one that is not this frame's, since no call ends
 * where it says that this function returns to. The row is the pc's. fp 0: not known; regs: as far
 * as the walk has restored them; exact: ip is no return address. */
KYMO_SIGNAL_SAFE uint64_t kymo_code_walk_row(struct kymo_stack_window *window,
                                             const struct kymo_regs *regs, uint64_t ip, uint64_t sp,
                                             uint64_t fp, bool exact);

/* Whether a call ends at ip; false, too, if what is before it cannot be read. */
KYMO_SIGNAL_SAFE bool kymo_code_is_behind_call(struct kymo_stack_window *window, uint64_t ip);

#endif
