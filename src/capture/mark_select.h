/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_select.h - lists that say which categories are on: "all:-net:disk/read".
 *
 * Layer:    capture
 * Flow:     the option markers, kymo control, kymo_markers_select -> [mark_select] -> mark_links.c
 * Threads:  any
 * Memory:   none
 * Signals:  safe
 *
 * Words with colons between; of those that mean a category, the last one counts. A word means the
 * category of that name, or part of a category as "disk/read", and all its parts; a minus in front
 * switches off. "all" means every one, "none" is "-all". Upper and lower case are the same. Each
 * list is whole: what no word means is off, unless the first word begins with a minus, as if "all"
 * stood before it. An empty list is "all".
 *
 * A quiet category, with its parts, is on only where a word names it or one of them: not by "all",
 * nor by a word for what it is a part of.
 */
#ifndef KYMO_CAPTURE_MARK_SELECT_H
#define KYMO_CAPTURE_MARK_SELECT_H

#include <stddef.h>

#include "base/attr.h"
#include "kymo/marker_abi.h"

/* Whether the list, which ends with a NUL or after max bytes, switches this category on. What is no
 * word (base/word_list.h) means nothing. */
KYMO_SIGNAL_SAFE int kymo_select_wants(const char *list, size_t max,
                                       const struct kymo_mark_category *category);

#endif
