/* SPDX-License-Identifier: Apache-2.0 */
/*
 * padding.h - the nops between two functions, which some code runs through.
 *
 * Layer:    unwind; above base
 * Flow:     a pc without rows (unwind.c) -> [padding] -> the pc whose row holds for it
 * Threads:  one walk
 * Memory:   reads code through the walk's window
 * Signals:  safe
 *
 * glibc's __memmove_chk and __memset_chk (2.41, x86-64) check a length, leave their unwind
 * information behind, and run through the padding into the function that follows. A nop changes
 * neither registers nor the stack, so the row of the first instruction behind them holds for them.
 */
#ifndef KYMO_UNWIND_PADDING_H
#define KYMO_UNWIND_PADDING_H

#include "unwind/stack_window.h"

/* The first address behind the nops that begin at pc; 0 where there are none, more than an
 * alignment needs, or the code cannot be read. */
KYMO_SIGNAL_SAFE uint64_t kymo_padding_end(struct kymo_stack_window *window, uint64_t pc);

#endif
