/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_register.h - types, categories and sites that are made at run time, as other languages do.
 *
 * Layer:    capture
 * Flow:     struct kymo_mark_calls -> [mark_register] -> mark_links.c, mark_site.c
 * Threads:  any
 * Memory:   copies in mappings of our own, for ever, and bounded; a forked child has copies of them
 * Signals:  registering is not for handlers; walking over the categories is safe
 *
 * The calls themselves are declared in mark.h.
 */
#ifndef KYMO_CAPTURE_MARK_REGISTER_H
#define KYMO_CAPTURE_MARK_REGISTER_H

#include "base/attr.h"
#include "kymo/marker_abi.h"

/* The category that was registered after this one; of NULL the first; NULL: there is none. */
KYMO_SIGNAL_SAFE struct kymo_mark_category *kymo_mark_registered_category(
    const struct kymo_mark_category *after);

/* In a forked child, which has none of the threads that may have been in here. */
KYMO_SIGNAL_SAFE void kymo_mark_register_after_fork(void);

#endif
