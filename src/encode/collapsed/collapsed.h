/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collapsed.h - what the files with one weight in a line and with two share.
 *
 * Layer:    encode; above profile
 * Flow:     collapsed.c, collapsed_diff.c -> [collapsed] -> a sink
 * Threads:  one encoder at a time
 * Memory:   the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_COLLAPSED_COLLAPSED_H
#define KYMO_ENCODE_COLLAPSED_COLLAPSED_H

#include "encode/encoder.h"

/* Appends a name without what separates names and lines. An empty one is "?": readers take a
 * doubled separator for nothing at all. */
KYMO_NODISCARD
kymo_err kymo_collapsed_put_name(kymo_bytes *out, const char *text, size_t len);

/* collapsed_diff.c: of options->before and the encoder's profile. */
KYMO_NODISCARD
kymo_err kymo_collapsed_write_diff(kymo_encoder *encoder);

#endif
