/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_calls.h - the calls that macros of markers make when a category is on.
 *
 * Flow:     marker.h -> [calls] -> libkymo-preload.so or libkymo.so, through the object's link
 * Threads:  any
 * Memory:   none
 * Signals:  everything here may stand in a handler
 *
 * Included by marker.h, for which it is made. A macro calls these and not the link itself, so that
 * what a link calls is loaded when the arguments are there, and is not kept across what they call.
 */
#ifndef KYMO_MARKER_CALLS_H
#define KYMO_MARKER_CALLS_H

#include "kymo/marker_abi.h"
#include "kymo/marker_link.h"

KYMO_INLINE_ void kymo_mark_(struct kymo_mark_site *site, const void *payload)
{
    KYMO_MARK_LINK_->mark(site, payload);
}

KYMO_INLINE_ void kymo_mark_with_(struct kymo_mark_site *site, const void *payload,
                                  const struct kymo_mark_options *options)
{
    KYMO_MARK_LINK_->mark_with(site, payload, options);
}

KYMO_INLINE_ void kymo_mark_cells_(struct kymo_mark_site *site, const struct kymo_mark_cell *cells,
                                   uint32_t count, const struct kymo_mark_options *options)
{
    KYMO_MARK_CALLS_->cells(site, cells, count, options);
}

KYMO_INLINE_ uint64_t kymo_interval_begin_(struct kymo_mark_site *site, const void *payload,
                                           const struct kymo_mark_options *asked)
{
    struct kymo_mark_options options = KYMO_ZERO_;
    if (asked)
        options = *asked;
    options.size = sizeof options;
    options.timing = KYMO_TIMING_START;
    if (options.id == 0)
        options.id = KYMO_MARK_CALLS_->interval();
    KYMO_MARK_LINK_->mark_with(site, payload, &options);
    return options.id;
}

KYMO_INLINE_ void kymo_interval_end_(struct kymo_mark_site *site, const void *payload, uint64_t id,
                                     const struct kymo_mark_options *asked)
{
    struct kymo_mark_options options = KYMO_ZERO_;
    if (id == 0)
        return; /* it began while the category was off */
    if (asked)
        options = *asked;
    options.size = sizeof options;
    options.timing = KYMO_TIMING_END;
    options.id = id;
    KYMO_MARK_LINK_->mark_with(site, payload, &options);
}

KYMO_INLINE_ struct kymo_mark_cell kymo_cell_of_block_(struct kymo_mark_cell value)
{
    value.kind |= KYMO_CELL_OF_BLOCK;
    return value;
}

KYMO_INLINE_ uint32_t kymo_label_push_(const char *key, const struct kymo_mark_cell *value)
{
    return KYMO_MARK_CALLS_->label_push(key, value);
}

KYMO_INLINE_ void kymo_label_set_(const char *key, const struct kymo_mark_cell *value)
{
    KYMO_MARK_CALLS_->label_set(key, value);
}

KYMO_INLINE_ void kymo_label_end_(const uint32_t *depth)
{
    if (__builtin_expect(*depth != 0, 0))
        KYMO_MARK_CALLS_->label_pop(*depth);
}

#endif
