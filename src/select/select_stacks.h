/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select_stacks.h - which stacks have a function whose name matches.
 *
 * Layer:    select
 * Flow:     select.c -> [select_stacks] -> keep.h
 * Threads:  one
 * Memory:   the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_SELECT_SELECT_STACKS_H
#define KYMO_SELECT_SELECT_STACKS_H

#include "select/select.h"

/* keep: an entry for each stack: 1 if a frame of it matches focus and none matches ignore. A frame
 * matches by any function inlined into it, or by its label if it has none. *is_found (for focus,
 * which may be NULL): a frame matches it. */
KYMO_NODISCARD
kymo_err kymo_select_stacks(const kymo_profile *profile, const kymo_selection *selection,
                            uint8_t *keep, int *is_found);

#endif
