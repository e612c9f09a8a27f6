/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/code_walk.h"

#include <string.h>

#include "arch/code_row.h"
#include "arch/machine_code.h"
#include "arch/row.h"
#include "arch/system.h"

/* The CFA that the row gives the frame; 0: it cannot be had. Of a frame that calls another one the
 * walk has not restored all registers yet. */
static uint64_t cfa_of(struct kymo_stack_window *window, const struct kymo_regs *regs, uint64_t sp,
                       uint64_t fp, bool exact, uint64_t row)
{
    uint64_t value;
    unsigned reg = kymo_row_register(row);
    switch (kymo_row_kind(row)) {
    case KYMO_ROW_KIND_SP:
        return sp + kymo_row_offset(row);
    case KYMO_ROW_KIND_FP:
        return fp ? fp + kymo_row_offset(row) : 0;
    case KYMO_ROW_KIND_REGISTER:
        return exact || !(KYMO_REGS_ACROSS_CALLS >> reg & 1) ? regs->gpr[reg] + kymo_row_offset(row)
                                                             : 0;
    case KYMO_ROW_KIND_DEREF:
        if (reg == KYMO_REG_FP && fp == 0)
            return 0;
        return kymo_window_load(window, (reg == KYMO_REG_FP ? fp : sp) + kymo_row_deref_at(row),
                                &value)
                   ? value + kymo_row_deref_add(row)
                   : 0;
    default:
        return 0;
    }
}

bool kymo_code_is_behind_call(struct kymo_stack_window *window, uint64_t ip)
{
    uint64_t word;
    uint8_t before[KYMO_CALL_BYTES];
    const uint64_t in_page = ip & (KYMO_PROBE_PAGE - 1);
    if (!kymo_window_load_code(window, ip - sizeof word, &word)) {
        /* The page before may be none. */
        if (in_page == 0 || in_page >= sizeof word ||
            !kymo_window_load_code(window, ip - in_page, &word))
            return false;
        word <<= 8 * (sizeof word - in_page);
    }
    memcpy(before, &word, sizeof before);
    return kymo_ends_with_call(before);
}

uint64_t kymo_code_walk_row(struct kymo_stack_window *window, const struct kymo_regs *regs,
                            uint64_t ip, uint64_t sp, uint64_t fp, bool exact)
{
    if (!window->outside && !window->probe_allowed)
        return KYMO_ROW_GAP;
    uint64_t row = kymo_row_from_code(window, ip, !exact);
    if (row == KYMO_ROW_END)
        return row;
    uint64_t cfa = cfa_of(window, regs, sp, fp, exact, row);
    uint64_t caller;
    bool is_above = cfa > sp || !kymo_window_is_own(window, sp) || !kymo_window_is_own(window, cfa);
    if (cfa != 0 && (cfa & 7) == 0 && is_above &&
        kymo_window_load(window, cfa - kymo_row_return_at(row), &caller) &&
        caller > KYMO_CODE_LOWEST && caller <= KYMO_CODE_HIGHEST &&
        kymo_code_is_behind_call(window, caller))
        return row;
    return row == KYMO_ROW_GAP ? KYMO_ROW_GAP : KYMO_ROW_NONE;
}
