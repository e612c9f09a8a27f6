/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expr.h - evaluates the DWARF expressions of unwind rows.
 *
 * Layer:    unwind; above base
 * Flow:     rows that do not fit in a word -> [expr] -> unwind.c
 * Threads:  any
 * Memory:   a stack of 8 values in its own frame
 * Signals:  safe; at most 64 operations; memory is read through the stack window only
 */
#ifndef KYMO_UNWIND_EXPR_H
#define KYMO_UNWIND_EXPR_H

#include "base/attr.h"
#include "base/reader.h"
#include "unwind/stack_window.h"

struct kymo_expr_regs {
    uint64_t ip;
    const uint64_t *gpr;
    uint32_t known; /* mask of the registers in gpr whose values are known */
};

enum kymo_expr_status {
    KYMO_EXPR_OK,
    KYMO_EXPR_UNKNOWN_REGISTER,
    KYMO_EXPR_BAD_MEMORY,
    KYMO_EXPR_UNSUPPORTED, /* an operation we do not do, a stack overrun, too long */
};

/* Evaluates s with `first` (not NULL: pushed before it begins, the CFA) and puts the top of the
 * stack into *value. */
KYMO_SIGNAL_SAFE enum kymo_expr_status kymo_expr_eval(kymo_reader s,
                                                      const struct kymo_expr_regs *regs,
                                                      struct kymo_stack_window *window,
                                                      const uint64_t *first, uint64_t *value);

#endif
