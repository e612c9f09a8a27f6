/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_row.h - the row of a pc that unwind information says nothing about, from the code itself.
 *
 * Layer:    arch
 * Flow:     code from a pc on -> [code_row] -> unwind/code_walk.c
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 *
 * Assembly often has no unwind information: codecs, arithmetic of large numbers, hashes. But what
 * it still has on the stack, it takes off before it returns. So the code is followed from the pc to
 * a return, and what that does to the stack pointer and to saved registers is counted.
 *
 * It rests on what the ABI asks of a function: that it gives back to its caller the stack pointer
 * and the registers that a callee saves, and that its own callees do so, too. Code that does not
 * keep to that, or a call that never returns, may give a wrong row: the caller checks that a call
 * ends where the row says that this function returns to.
 */
#ifndef KYMO_ARCH_CODE_ROW_H
#define KYMO_ARCH_CODE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "unwind/stack_window.h"

/* A packed row (arch/row.h); KYMO_ROW_GAP if no return was found, or none that leaves a row;
 * KYMO_ROW_END if the code can only call what does not return (a hlt follows), and so has no
 * caller. The code is read through the window. is_return_address: pc is the place that a call
 * returns to. */
KYMO_SIGNAL_SAFE uint64_t kymo_row_from_code(struct kymo_stack_window *window, uint64_t pc,
                                             bool is_return_address);

#endif
